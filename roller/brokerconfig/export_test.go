package brokerconfig

// What the tests in package brokerconfig_test ask for beside what the package exports.

// Compare compares one node with the table for its version of Kafka.
func Compare(c Config, r Roles) Diff {
	t, _ := For(c.Version)
	return t.Compare(c, r)
}

func (t *Table) Compare(c Config, r Roles) Diff {
	return (&comparison{table: t, config: c, roles: r}).compare()
}

// Key returns what the table says of a key, and whether Kafka knows it.
func (t *Table) Key(name string) (Key, bool) {
	if k, ok := t.keys[name]; ok {
		return *k, true
	}
	return Key{}, false
}

// Owned explains why a key is never compared; empty for all that are.
func Owned(key string) string { return owned[key] }

// Versions are the versions of Kafka whose tables there are, ascending.
func Versions() []string {
	var names []string
	for _, t := range all() {
		names = append(names, t.Version)
	}
	return names
}
