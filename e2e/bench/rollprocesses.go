package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/podsets"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/process"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// rollProcesses measures the same as rollPods with processes: each node is a process of this machine that stands for its pod.
func (w *world) rollProcesses(ctx context.Context, r *Report) (err error) {
	dir, err := os.MkdirTemp("", "bench-roll-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := buildProgram(ctx, dir, "roller")
	if err != nil {
		return err
	}
	if err := w.roll(ctx, program, &rolled{r: r, what: "3_processes", suffix: "_of_3_processes"}, 3, 0); err != nil {
		return err
	}
	return w.roll(ctx, program, &rolled{r: r, what: "6_broker_processes", suffix: "_of_6_broker_processes"}, 6, 3)
}

// roll measures the rolls of a Kafka with that many brokers and controllers; without controllers, each broker is one, too.
func (w *world) roll(ctx context.Context, program string, k *rolled, brokers, controllers int) (err error) {
	k.namespace = fmt.Sprintf("roll-%d-brokers", brokers)
	nodes, err := realkafka.Start(ctx, realkafka.Options{Brokers: brokers, Controllers: controllers, Log: k.r.progress,
		StartTimeout: 5 * time.Minute, // the backoff is the cluster operator's default
		Config:       map[string]string{"min.insync.replicas": "2", "replica.fetch.backoff.ms": "100"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, nodes.Close()) }()
	k.admin, err = saramakafka.New(kafka.Config{Bootstrap: nodes.Bootstrap(), ClientID: "bench", RequestTimeout: 10 * time.Second})
	if err != nil {
		return err
	}
	defer k.admin.Close()
	if err := w.createNamespace(ctx, k.namespace); err != nil {
		return err
	}
	scheme, err := podsets.Scheme()
	if err != nil {
		return err
	}
	if k.k8s, err = client.NewWithWatch(w.config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	fixture, err := podsets.Run(ctx, podsets.Options{Config: w.config, Namespace: k.namespace, Kafka: nodes})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fixture.Close()) }()
	p := &processes{world: w, rolled: k, program: program, nodes: nodes, pools: podsets.PoolsOf(nodes, k.namespace, rolledKafka)}
	defer func() { err = errors.Join(err, p.stop(ctx)) }()
	for i := range p.pools {
		p.pools[i].Revision, p.pools[i].ClusterID = "r", nodes.ClusterID()
	}
	if err := fixture.Deploy(ctx, k.k8s, p.pools...); err != nil {
		return err
	}
	return k.measure(ctx, traffic.Options{Bootstrap: nodes.Bootstrap()}, nil,
		&way{name: "_by_hand", begin: p.stop, restart: k.byHand},
		&way{begin: p.start, metrics: p.metrics, restart: func(ctx context.Context) error { return k.byRoller(ctx, p.outdate) }})
}

// processes are nodes whose processes stand for pods, and their roller.
type processes struct {
	*world
	rolled  *rolled
	program string
	nodes   *realkafka.Cluster
	pools   []podsets.Pool
	// roller is nil while it does not run.
	roller  *process.Process
	address string
}

// start starts the roller as its Deployment does.
func (p *processes) start(ctx context.Context) (err error) {
	p.roller, p.address, err = p.serve(p.program, p.program+".log", "run", "--namespace="+p.rolled.namespace, "--cluster="+rolledKafka,
		"--bootstrap-servers="+strings.Join(p.nodes.Bootstrap(), ","),
		"--bootstrap-controllers="+strings.Join(p.nodes.ControllerBootstrap(), ","), "--leader-election")
	if err != nil {
		return err
	}
	return p.rolled.looksAt(ctx, p.metrics)
}

// stop stops the roller, if it runs.
func (p *processes) stop(context.Context) error {
	if p.roller == nil {
		return nil
	}
	defer func() { p.roller = nil }()
	return p.roller.Terminate(time.Minute)
}

// metrics reads the roller's metrics.
func (p *processes) metrics(ctx context.Context) ([]operatorproc.Metrics, error) {
	metrics, err := operatorproc.Scrape(ctx, "http://"+p.address+"/metrics")
	return []operatorproc.Metrics{metrics}, err
}

// outdate gives all pods a new revision.
func (p *processes) outdate(ctx context.Context) error {
	for i := range p.pools {
		p.pools[i].Revision += "r"
		if err := p.pools[i].Update(ctx, p.rolled.k8s); err != nil {
			return err
		}
	}
	return nil
}
