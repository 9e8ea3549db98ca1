package brokerconfig

// layers are the values of one key at each level, in the order of precedence.
type layers struct {
	node, global, static *string
	// known means that a nil layer has no value. Otherwise the node reports only the effective layer, and none of those below it.
	known bool
}

// layersOf returns the layers of a key as the node reports them.
func layersOf(key string, e *Entry) layers {
	l := layers{known: len(e.Synonyms) > 0 || e.Source == SourceStatic || e.Source == SourceDefault}
	l.set(e.Source, &e.Value)
	for i := range e.Synonyms {
		// Skip synonyms with another key, such as log.retention.hours for log.retention.ms: they are compared under their own key.
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
