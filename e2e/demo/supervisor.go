package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// SuperviseCommand is the command that runs the supervisor. Users do not run it.
const SuperviseCommand = "supervise"

// progressFD is the file descriptor that the supervisor inherits from Up and writes its progress to. Up reads it until its end.
const progressFD = 3

// supervisor runs the background programs.
type supervisor struct {
	demo     *Demo
	state    *state
	progress io.Writer
	plane    *controlplane.ControlPlane
	// closers stop the parts, in the order in which they were started.
	closers []func() error
}

// Supervise starts everything and keeps it running until the context ends.
func (d *Demo) Supervise(ctx context.Context) (err error) {
	s, err := d.load()
	if err != nil || s == nil {
		return errors.Join(errors.New("there is nothing to supervise"), err)
	}
	// The parts must not inherit the file: otherwise, it would not end with this process's own copy.
	syscall.CloseOnExec(progressFD)
	pipe := os.NewFile(progressFD, "progress")
	sup := &supervisor{demo: d, state: s, progress: pipe}
	defer func() { err = errors.Join(err, sup.close()) }()
	if err := sup.start(ctx); err != nil {
		return err
	}
	// The end of the file shows Up that the start succeeded, because the state is complete.
	if err := pipe.Close(); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func (s *supervisor) start(ctx context.Context) error {
	var err error
	if s.state.Supervisor, err = identify(os.Getpid()); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"the Kubernetes control plane (etcd, kube-apiserver)", s.startControlPlane},
		{kafkaName(s.state.Kafka), s.startKafka},
		{"the CRD, the roles and the operator's service account from config/", s.install},
		{"the topic-operator", s.startOperator},
	} {
		began := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		// Up may have stopped reading; the demo continues.
		_, _ = fmt.Fprintf(s.progress, "%-68s %8s\n", step.name, seconds(time.Since(began)))
	}
	s.state.Ready = true
	return s.demo.save(s.state)
}

// close stops the parts, the last one first.
func (s *supervisor) close() error {
	var errs []error
	for _, closer := range slices.Backward(s.closers) {
		errs = append(errs, closer())
	}
	return errors.Join(errs...)
}

func (s *supervisor) add(name string, pid int, log string, closer func() error) {
	s.state.Parts = append(s.state.Parts, part{Name: name, PID: pid, Log: log})
	s.closers = append(s.closers, closer)
}

func (s *supervisor) startControlPlane(ctx context.Context) error {
	plane, err := controlplane.Start(ctx, controlplane.Options{Dir: s.demo.path("controlplane"), Log: os.Stderr})
	if err != nil {
		return err
	}
	s.plane = plane
	s.add("kube-apiserver and etcd", 0, plane.LogFile("kube-apiserver"), plane.Stop)
	if s.state.Kubectl, err = plane.KubectlPath(); err != nil {
		return err
	}
	s.state.Kubeconfig = plane.Kubeconfig()
	return nil
}

func (s *supervisor) startKafka(ctx context.Context) error {
	if s.state.Kafka == kafkaReal {
		cluster, err := realkafka.Start(ctx, realkafka.Options{
			Dir:    s.demo.path("kafka"),
			Config: map[string]string{"auto.create.topics.enable": "false"},
			Log:    os.Stderr,
		})
		if err != nil {
			return err
		}
		s.state.Bootstrap = cluster.Bootstrap()
		s.add("Apache Kafka", cluster.PID(0), cluster.LogFile(0), cluster.Close)
		return nil
	}
	cluster, err := kafkatest.StartEmbedded(kafkatest.Options{})
	if err != nil {
		return err
	}
	s.state.Bootstrap = cluster.Bootstrap()
	s.add("embedded Kafka", os.Getpid(), s.demo.path(supervisorLog), func() error { cluster.Close(); return nil })
	return nil
}

// install applies what a real installation applies except the Deployment: there are no nodes to run it.
func (s *supervisor) install(ctx context.Context) error {
	folder := s.demo.path("install")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	kustomization := "namespace: " + namespace + "\nresources:\n"
	for _, name := range []string{"crd", "topic-operator/rbac"} {
		rel, err := filepath.Rel(folder, filepath.Join(s.demo.root, "config", name))
		if err != nil {
			return err
		}
		kustomization += "- " + filepath.ToSlash(rel) + "\n"
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(kustomization), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"create", "namespace", namespace},
		{"apply", "--server-side", "-k", folder},
		// So that users can omit -n.
		{"config", "set-context", "--current", "--namespace=" + namespace},
	} {
		if _, err := s.plane.Kubectl(ctx, args...); err != nil {
			return err
		}
	}
	return controlplane.WaitEstablished(ctx, s.plane.Kubectl)
}

// startOperator runs the operator with exactly the rights of config/topic-operator/rbac.
func (s *supervisor) startOperator(ctx context.Context) error {
	account, err := s.plane.AddServiceAccount(namespace, "topic-operator")
	if err != nil {
		return err
	}
	operator, err := operatorproc.Start(ctx, operatorproc.Options{
		Binary:     s.state.Binary,
		Kubeconfig: account.Kubeconfig,
		Namespace:  namespace,
		Bootstrap:  s.state.Bootstrap,
		LogFile:    s.demo.path(operatorLog),
		Env:        map[string]string{"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": fmt.Sprint(interval.Milliseconds())},
	})
	if err != nil {
		return err
	}
	s.add("topic-operator", operator.PID(), operator.LogFile(), func() error {
		if operator.Running() {
			if _, err := operator.Terminate(); err != nil {
				return err
			}
		}
		return operator.Close()
	})
	s.state.Metrics = "http://" + operator.Address() + "/metrics"
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return operator.WaitReady(ctx)
}
