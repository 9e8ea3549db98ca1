package release

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/exit"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

const (
	long = `release removes the operator's finalizer from the KafkaTopics of a namespace that are being deleted.

It is for a namespace that is stuck in Terminating because its operator is gone. The topics stay in Kafka. It lists the KafkaTopics and asks
for confirmation.
Exit status: 0 done, or nothing to do; 1 failed for some or all; 2 wrong usage.`
	examples = `  topic-operator release -n my-namespace          # show what is being deleted and held, and ask
  topic-operator release -n my-namespace --all    # also the others; a running operator adds the finalizer again`
)

// The exit statuses.
const (
	exitDone    exit.Status = 0
	exitNotDone exit.Status = 1
)

// command is one call of the subcommand.
type command struct {
	connection *genericclioptions.ConfigFlags
	selector   string
	all, yes   bool
}

// Command returns the subcommand. It prints the question to standard error, and reads the answer from standard input. signals returns a
// context that ends when the program is interrupted.
func Command(signals func() context.Context) *cobra.Command {
	f := &command{connection: genericclioptions.NewConfigFlags(false)}
	f.connection.CacheDir = nil // nothing is cached
	c := &cobra.Command{
		Use: "release -n NAMESPACE", Short: "Remove the operator's finalizer from KafkaTopics; their topics stay in Kafka", Long: long,
		Example: examples, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error { return f.call(c, signals) },
	}
	f.connection.AddFlags(c.Flags())
	c.Flags().StringVarP(&f.selector, "selector", "l", "", "The labels of the KafkaTopics to release, as with kubectl")
	c.Flags().BoolVar(&f.all, "all", false, "Release also those that are not being deleted")
	c.Flags().BoolVar(&f.yes, "yes", false, "Do not ask for confirmation")
	return c
}

// call checks the flags, connects and runs the command.
func (f *command) call(c *cobra.Command, signals func() context.Context) error {
	namespace := *f.connection.Namespace
	if namespace == "" {
		return errors.New("release needs --namespace")
	}
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return fmt.Errorf("--selector=%s: %w", f.selector, err)
	}
	api, err := f.connect()
	if err != nil {
		fmt.Fprintf(c.ErrOrStderr(), "topic-operator: no Kubernetes cluster: %v\n", err)
		return exitNotDone
	}
	return exit.With(f.run(signals(), api, namespace, selector, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr()))
}

func (f *command) connect() (client.Client, error) {
	config, err := f.connection.ToRESTConfig()
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
func (f *command) run(ctx context.Context, c client.Client, namespace string, selector labels.Selector, stdin io.Reader, stdout,
	stderr io.Writer) exit.Status {
	topics, err := held(ctx, c, func(kt *v1.KafkaTopic) bool { return f.all || !kt.DeletionTimestamp.IsZero() },
		client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		fmt.Fprintf(stderr, "topic-operator: list the KafkaTopics in namespace %s: %v\n", namespace, err)
		return exitNotDone
	}
	if len(topics) == 0 {
		fmt.Fprintf(stdout, "Nothing to release in namespace %s.\n", namespace)
		return exitDone
	}
	show(stdout, topics)
	if !f.yes && !confirmed(stdin, stderr, len(topics)) {
		fmt.Fprintln(stderr, "Nothing was changed.")
		return exitNotDone
	}
	released := 0
	err = freeAll(ctx, c, topics, func(kt *v1.KafkaTopic, err error) {
		switch {
		case err == nil:
			released++
			fmt.Fprintf(stdout, "released %s/%s, topic %s stays in Kafka\n", kt.Namespace, kt.Name, ownership.ClaimedName(kt))
		case errors.Is(err, errReplaced):
			fmt.Fprintf(stdout, "replaced %s/%s, nothing was changed: %v\n", kt.Namespace, kt.Name, err)
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
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", kt.Namespace, kt.Name, ownership.ClaimedName(kt), since)
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
