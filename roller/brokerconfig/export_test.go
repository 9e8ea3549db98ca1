package brokerconfig

// Internals that the tests in package brokerconfig_test need.

// Compare compares one node with the table for its version of Kafka.
func Compare(c Config, r Roles) Diff {
	t, _ := For(c.Version)
	return t.Compare(c, r)
}

func (t *Table) Compare(c Config, r Roles) Diff {
	return (&comparison{table: t, config: c, roles: r}).compare()
}

// Key returns a key's entry in the table, and whether Kafka knows the key.
func (t *Table) Key(name string) (Key, bool) {
	if k, ok := t.keys[name]; ok {
		return *k, true
	}
	return Key{}, false
}

// Owned explains why a key is never compared; empty for keys that are.
func Owned(key string) string { return owned[key] }

// Versions returns the versions of Kafka that have tables, ascending.
func Versions() []string {
	var names []string
	for _, t := range all() {
		names = append(names, t.Version)
	}
	return names
}
