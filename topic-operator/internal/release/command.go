package release

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// Subcommand is the program's argument that calls Command.
const Subcommand = "release"

// Usage describes how to call the subcommand.
const Usage = `topic-operator release --namespace NAMESPACE [--selector LABELS] [--all] [--yes] [--kubeconfig FILE] [--context NAME]
    Removes the operator's finalizer from the KafkaTopics in NAMESPACE that are being deleted, for a namespace that is stuck in Terminating
    because its operator is gone. Their topics stay in Kafka. Lists them and asks for confirmation. With --all, also from those not being
    deleted; a running operator adds it to them again.
Exit status: 0 done, or nothing to do; 1 failed for some or all; 2 wrong usage.
`

// The exit statuses.
const (
	exitDone = iota
	exitNotDone
	exitUsage
)

type flags struct {
	namespace, selector, kubeconfig, context string
	all, yes                                 bool
}

// Command runs the subcommand with the arguments that follow it, and returns the exit status. It prints the question to stderr, and reads
// the answer from stdin.
func Command(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, Usage)
		return exitDone
	case err != nil:
		fmt.Fprintf(stderr, "topic-operator: %v\n\n%s", err, Usage)
		return exitUsage
	}
	c, err := f.connect()
	if err != nil {
		fmt.Fprintf(stderr, "topic-operator: no Kubernetes cluster: %v\n", err)
		return exitNotDone
	}
	return f.run(ctx, c, stdin, stdout, stderr)
}

func parse(args []string) (flags, error) {
	f := flags{}
	set := flag.NewFlagSet("release", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&f.namespace, "namespace", "", "")
	set.StringVar(&f.namespace, "n", "", "")
	set.StringVar(&f.selector, "selector", "", "")
	set.StringVar(&f.selector, "l", "", "")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "")
	set.StringVar(&f.context, "context", "", "")
	set.BoolVar(&f.all, "all", false, "")
	set.BoolVar(&f.yes, "yes", false, "")
	switch err := set.Parse(args); {
	case err != nil:
		return f, err
	case set.NArg() > 0:
		return f, fmt.Errorf("unexpected argument %q", set.Arg(0))
	case f.namespace == "":
		return f, errors.New("release needs --namespace")
	}
	if _, err := labels.Parse(f.selector); err != nil {
		return f, fmt.Errorf("--selector=%s: %w", f.selector, err)
	}
	return f, nil
}

func (f flags) connect() (client.Client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: f.context}).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// run lists the KafkaTopics to release, asks for confirmation, and releases them.
func (f flags) run(ctx context.Context, c client.Client, stdin io.Reader, stdout, stderr io.Writer) int {
	selector, _ := labels.Parse(f.selector) // checked by parse
	topics, err := held(ctx, c, func(kt *v1.KafkaTopic) bool { return f.all || !kt.DeletionTimestamp.IsZero() },
		client.InNamespace(f.namespace), client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		fmt.Fprintf(stderr, "topic-operator: list the KafkaTopics in namespace %s: %v\n", f.namespace, err)
		return exitNotDone
	}
	if len(topics) == 0 {
		fmt.Fprintf(stdout, "Nothing to release in namespace %s.\n", f.namespace)
		return exitDone
	}
	show(stdout, topics)
	if !f.yes && !confirmed(stdin, stderr, len(topics)) {
		fmt.Fprintln(stderr, "Nothing was changed.")
		return exitNotDone
	}
	released := 0
	err = freeAll(ctx, c, topics, func(kt *v1.KafkaTopic, err error) {
		if err == nil {
			released++
			fmt.Fprintf(stdout, "released %s/%s, topic %s stays in Kafka\n", kt.Namespace, kt.Name, kt.TopicName())
		}
	})
	if err != nil {
		fmt.Fprintf(stderr, "topic-operator: %d of %d released: %v\n", released, len(topics), err)
		return exitNotDone
	}
	return exitDone
}

func show(w io.Writer, topics []v1.KafkaTopic) {
	table := tabwriter.NewWriter(w, 0, 4, 3, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tNAME\tTOPIC\tDELETED SINCE")
	for i := range topics {
		kt, since := &topics[i], "-"
		if kt.DeletionTimestamp != nil {
			since = kt.DeletionTimestamp.UTC().Format("2006-01-02T15:04:05Z")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", kt.Namespace, kt.Name, kt.TopicName(), since)
	}
	_ = table.Flush() // a closed terminal needs no table
}

func confirmed(stdin io.Reader, stderr io.Writer, n int) bool {
	fmt.Fprintf(stderr, "Remove the finalizer %s from %d KafkaTopics? Their topics stay in Kafka. [y/N] ", v1.FinalizerTopicOperator, n)
	answer, _ := bufio.NewReader(stdin).ReadString('\n') // no answer means no
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}
