package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

const (
	kafkaEmbedded = "embedded"
	kafkaReal     = "real"

	supervisorLog = "supervisor.log"
	operatorLog   = "topic-operator.log"
)

func kafkaName(kind string) string {
	if kind == kafkaReal {
		return "Apache Kafka (one node, KRaft)"
	}
	return "an embedded Kafka (KAFKA=real for Apache Kafka itself)"
}

// Up starts the demo, shows its story and leaves it running. The kind of Kafka is embedded (or empty) or real. After an error, including
// Ctrl-C, it stops everything that was started.
func (d *Demo) Up(ctx context.Context, kafkaKind string) error {
	if kafkaKind == "" {
		kafkaKind = kafkaEmbedded
	}
	if kafkaKind != kafkaEmbedded && kafkaKind != kafkaReal {
		return fmt.Errorf("KAFKA=%s: there is KAFKA=%s and KAFKA=%s", kafkaKind, kafkaEmbedded, kafkaReal)
	}
	if done, err := d.alreadyUp(ctx, kafkaKind); done || err != nil {
		return err
	}
	if err := d.up(ctx, kafkaKind); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		} else {
			d.tellLogs()
		}
		// The context of the failure may have ended; the cleanup has its own.
		return errors.Join(err, d.Down(context.WithoutCancel(ctx)))
	}
	return nil
}

// alreadyUp reports whether a demo runs already, and cleans up one that no longer runs.
func (d *Demo) alreadyUp(ctx context.Context, kafkaKind string) (bool, error) {
	s, err := d.load()
	if err != nil {
		return false, err
	}
	switch {
	case s == nil:
		return false, nil
	case !s.Supervisor.alive():
		d.tell.say("An earlier demo has ended without cleaning up; this is done now.")
		return false, d.Down(ctx)
	case !s.Ready:
		return false, errors.New("the demo is being started somewhere else; make demo-down ends it")
	case s.Kafka != kafkaKind:
		return false, fmt.Errorf("the demo is running with KAFKA=%s; make demo-down ends it", s.Kafka)
	}
	d.tell.say("The demo is running already. To see the story again: make demo-down demo")
	d.tellHowToGoOn(s)
	return true, nil
}

func (d *Demo) up(ctx context.Context, kafkaKind string) error {
	d.tell.section("Preparations (the first time takes some minutes)")
	s, err := d.prepare(ctx, kafkaKind)
	if err != nil {
		return err
	}
	d.tell.section("Start")
	if s, err = d.startSupervisor(ctx, s); err != nil {
		return err
	}
	if err := d.tellStory(ctx, s); err != nil {
		return err
	}
	d.tellHowToGoOn(s)
	return nil
}

// prepare builds the programs, with visible progress.
func (d *Demo) prepare(ctx context.Context, kafkaKind string) (*state, error) {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return nil, err
	}
	s := &state{Kafka: kafkaKind}
	if err := d.save(s); err != nil {
		return nil, err
	}
	if err := controlplane.Prepare(ctx, d.tell); err != nil {
		return nil, err
	}
	d.tell.quote("etcd, kube-apiserver and kubectl are there")
	if kafkaKind == kafkaReal {
		if err := realkafka.Prepare(ctx, d.tell); err != nil {
			return nil, err
		}
		d.tell.quote("Java and Apache Kafka are there")
	}
	began := time.Now()
	var err error
	if s.Binary, err = operatorproc.Build(ctx); err != nil {
		return nil, err
	}
	d.tell.quote("topic-operator is built, in " + seconds(time.Since(began)))
	return s, nil
}

// startSupervisor starts the detached supervisor, and waits until everything runs.
func (d *Demo) startSupervisor(ctx context.Context, s *state) (*state, error) {
	if err := d.save(s); err != nil {
		return nil, err
	}
	log, err := os.Create(d.path(supervisorLog))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the supervisor has its own
	progress, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = progress.Close() }() // read to its end
	cmd := exec.Command(d.self[0], d.self[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = d.root, log, log, []*os.File{theirs}
	// In its own session, neither Ctrl-C nor the end of the terminal ends the supervisor.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_ = theirs.Close() // otherwise, the file would never end
	if s.Supervisor, err = identify(cmd.Process.Pid); err != nil {
		return nil, err
	}
	if err := d.save(s); err != nil {
		return nil, err
	}
	// Reap the process, so that its end can be detected.
	go func() { _ = cmd.Wait() }()

	stop := context.AfterFunc(ctx, func() { _ = progress.Close() })
	defer stop()
	_, err = io.Copy(d.tell, progress)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if s, loadErr := d.load(); err == nil && loadErr == nil && s != nil && s.Ready {
		return s, nil
	}
	return nil, errors.Join(errors.New("something did not start, see above"), err)
}

// tellLogs shows the ends of the logs before they are removed.
func (d *Demo) tellLogs() {
	for _, name := range []string{supervisorLog, operatorLog} {
		if b, err := os.ReadFile(d.path(name)); err == nil && len(b) > 0 {
			d.tell.say("\nThe end of %s:", name)
			d.tell.quote(lastLines(string(b), 25))
		}
	}
}

// Down stops everything and removes the demo's files. It succeeds if nothing runs.
func (d *Demo) Down(ctx context.Context) error {
	s, err := d.load()
	if err != nil {
		return err
	}
	if _, err := os.Stat(d.dir); err != nil {
		d.tell.say("The demo does not run.")
		return nil
	}
	if s != nil {
		if err := end(ctx, s.Supervisor); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(d.dir); err != nil {
		return err
	}
	d.tell.say("The demo is over; nothing of it is left.")
	return nil
}

// end asks the supervisor to end, and kills it after a while. Its parts end with it either way: the kernel kills the operator and Kafka
// when their parent dies, the control plane's reaper the others.
func end(ctx context.Context, supervisor identity) error {
	if err := supervisor.signal(syscall.SIGTERM); err != nil {
		return err
	}
	const pause = 50 * time.Millisecond
	insist := time.After(patience)
	for supervisor.alive() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-insist:
			if err := supervisor.signal(syscall.SIGKILL); err != nil {
				return err
			}
		case <-time.After(pause):
		}
	}
	return nil
}

// tellHowToGoOn describes what a user can try next in a running demo.
func (d *Demo) tellHowToGoOn(s *state) {
	d.tell.section("Go on playing")
	path := ""
	if _, err := exec.LookPath("kubectl"); err != nil {
		path = " PATH=$PATH:" + filepath.Dir(s.Kubectl)
	}
	d.tell.say("    export KUBECONFIG=%s%s", s.Kubeconfig, path)
	d.tell.say("    kubectl get kt                                    # the topics in Kubernetes; also -o wide, -o yaml")
	d.tell.say("    go run ./e2e/cmd/demo topics                      # the topics in Kafka")
	d.tell.say("    kubectl edit kt orders                            # change one")
	d.tell.say("    kubectl apply -f config/samples/extra             # topics that fail, conflict, pause or are left alone")
	d.tell.say("    kubectl describe kt orders                        # conditions and events")
	d.tell.say("    tail -f %-41s # what the operator does", d.shown(d.path(operatorLog)))
	d.tell.say("    curl -s %s | grep ^strimzi", s.Metrics)
	d.tell.say("")
	d.tell.say("Kafka listens at %s. What runs:", strings.Join(s.Bootstrap, ","))
	var rows [][]string
	for _, p := range s.Parts {
		rows = append(rows, []string{p.Name, "log " + d.shown(p.Log)})
	}
	d.tell.quote(table(rows))
	d.tell.say("\nTo end it all: make demo-down")
}
