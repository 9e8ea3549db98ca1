package brokerconfig

// layers are the values that are set for one key, one on top of the other.
type layers struct {
	node, global, static *string
	// known: a nil layer is known not to be set. Otherwise only the effective layer is reported, and those below it are not.
	known bool
}

// layersOf reads the layers of a key as the node reports them.
func layersOf(key string, e *Entry) layers {
	l := layers{known: len(e.Synonyms) > 0 || e.Source == SourceStatic || e.Source == SourceDefault}
	l.set(e.Source, &e.Value)
	for i := range e.Synonyms {
		// Another key's value is that key's own affair: log.retention.hours stands among the synonyms of log.retention.ms.
		if s := &e.Synonyms[i]; s.Key == key {
			l.set(s.Source, &s.Value)
		}
	}
	return l
}

func (l *layers) set(source Source, value *string) {
	switch source {
	case SourceDynamicNode:
		l.node = value
	case SourceDynamicGlobal:
		l.global = value
	case SourceStatic:
		l.static = value
	}
}
