package policy

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// FuzzParse checks that Parse never panics and that its errors have problems. A policy that it accepts obeys the rules, gives no topic to
// two namespaces, and stays the same if it is written and parsed again.
func FuzzParse(f *testing.F) {
	f.Add(policyExample)
	f.Add(entries("a, topicNamePrefixes: [x-, x.], topicNames: [x, '5']", "b, otherTopics: true"))
	f.Add(entries("a, topicNames: [1, true, ~, 2024-01-01]", "b, otherTopics: yes") + "---\n")
	f.Add("policy: &a\n- namespace: !!str 5\n  topicNames: [&b x, *b]\n- *a\n")
	f.Add("policy: [{namespace: a, <<: {otherTopics: true}}, {? [a] : b}]")
	f.Add(`{"policy": [{"namespace": "a", "topicNames": ["b"]}]}`)
	f.Add("%YAML 1.1\n--- !x\npolicy: !!seq [ ]\n...\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse([]byte(text))
		if err != nil {
			var found *IllegalError
			if !errors.As(err, &found) || len(found.Problems) == 0 || strings.Contains(err.Error(), "\n") || p != nil {
				t.Fatalf("not one line of problems: %q", err)
			}
			return
		}
		list := entriesOf(p)
		if len(list) > 50 || len(text) > 10_000 {
			return // the comparison of all pairs is slow
		}
		for rule, n := range offences(list) {
			if n > 0 {
				t.Errorf("accepted, and breaks the rule %s %d times", rule, n)
			}
		}
		for _, topic := range probes(list) {
			if owners := claimants(list, topic); len(owners) > 1 {
				t.Errorf("topic %s belongs to %v", topic, owners)
			}
		}
		again, err := Parse(render(t, list))
		if err != nil || !reflect.DeepEqual(entriesOf(again), list) {
			t.Errorf("%v, read again: %v, %v", list, again, err)
		}
	})
}

// probes returns topic names at the boundaries of each entry.
func probes(list []entry) []string {
	all := []string{"x", "zzz", "__consumer_offsets"}
	for _, e := range list {
		for _, text := range append(e.TopicNames, e.TopicNamePrefixes...) {
			all = append(all, text, text+"0", text+".", text[:len(text)-1])
		}
	}
	return all
}

// FuzzCheck checks that Check never panics, agrees with the policy's entries read one by one, and always explains a refusal with the same
// sentence.
func FuzzCheck(f *testing.F) {
	f.Add("team.a", "foo-app.x")
	f.Add("team.b", "config-foo")
	f.Add("kafka.cluster.admins", "__consumer_offsets")
	f.Add("", "")
	f.Add("team.a\n", "foo-app.\x00\xff'")
	p, err := Parse([]byte(policyExample))
	if err != nil {
		f.Fatal(err)
	}
	list := entriesOf(p)
	f.Fuzz(func(t *testing.T, namespace, topic string) {
		owners := claimants(list, topic)
		v := p.Check(namespace, topic)
		if len(owners) != 1 || (v == nil) != (owners[0] == namespace) {
			t.Fatalf("topic %q belongs to %v; from %q: %+v", topic, owners, namespace, v)
		}
		if v == nil {
			return
		}
		message := v.Message()
		if v.Owner != owners[0] || message != p.Check(namespace, topic).Message() || !strings.Contains(message, "'"+kafka.Excerpt(topic)+"'") {
			t.Errorf("%+v: %s", v, message)
		}
		if kafka.IsTopicName(topic) && !strings.HasPrefix(topic, v.Entry) {
			t.Errorf("topic %q is none of entry %q", topic, v.Entry)
		}
	})
}
