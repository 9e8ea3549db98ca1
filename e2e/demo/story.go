package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// storyAdmin is the story's client of Kafka, which makes changes without the operator.
type storyAdmin interface {
	kafka.TopicReader
	kafka.TopicWriter
}

// story is the tour through a running demo.
type story struct {
	*Demo
	state *state
	admin storyAdmin
}

func (d *Demo) tellStory(ctx context.Context, s *state) error {
	admin, err := connect(s)
	if err != nil {
		return err
	}
	defer admin.Close()
	t := &story{Demo: d, state: s, admin: admin}
	for _, chapter := range []func(context.Context) error{t.create, t.change, t.drift, t.loss, t.remove} {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	return nil
}

// kubectl runs kubectl, and shows the command and its output.
func (t *story) kubectl(ctx context.Context, args ...string) error {
	t.tell.say("$ kubectl %s", shellLine(args))
	out, err := t.quietKubectl(ctx, args...)
	t.tell.quote(out)
	t.tell.say("")
	return err
}

func (t *story) quietKubectl(ctx context.Context, args ...string) (string, error) {
	return runKubectl(ctx, t.state.Kubectl, t.root, t.state.Kubeconfig, t.path("kube-cache"), args)
}

// shellLine quotes arguments that a shell would split or expand.
func shellLine(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if strings.ContainsAny(arg, " {}\"$*?") {
			quoted[i] = "'" + arg + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// inKafka shows all topics in Kafka, or only the named one.
func (t *story) inKafka(ctx context.Context, name string) error {
	topics, err := t.admin.ListTopics(ctx)
	if err != nil {
		return err
	}
	if name != "" {
		topics = slices.DeleteFunc(topics, func(topic kafka.Topic) bool { return topic.Name != name })
	}
	text, err := renderTopics(ctx, t.admin, topics)
	if err != nil {
		return err
	}
	t.tell.say("In Kafka:")
	t.tell.quote(text)
	return nil
}

// await polls until a condition holds, and returns how long that took.
func (t *story) await(ctx context.Context, what string, condition func(context.Context) (bool, error)) (time.Duration, error) {
	const pause = 50 * time.Millisecond
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		ok, err := condition(limited)
		if err == nil && ok {
			return time.Since(began), nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		select {
		case <-limited.Done():
			return 0, errors.Join(fmt.Errorf("not within %v: %s", patience, what), err)
		case <-time.After(pause):
		}
	}
}

// topic returns one topic and its own settings.
func (t *story) topic(ctx context.Context, name string) (kafka.Topic, map[string]string, error) {
	topics, err := t.admin.DescribeTopics(ctx, []string{name})
	if err != nil {
		return kafka.Topic{}, nil, err
	}
	if err := topics[name].Err; err != nil {
		return kafka.Topic{}, nil, err
	}
	resource := kafka.TopicResource(name)
	configs, err := t.admin.DescribeConfigs(ctx, []kafka.ConfigResource{resource}, nil)
	if err != nil {
		return kafka.Topic{}, nil, err
	}
	own := map[string]string{}
	for key, e := range configs[resource].Entries {
		if e.Source == kafka.SourceTopic {
			own[key] = e.Value
		}
	}
	return topics[name].Topic, own, configs[resource].Err
}
