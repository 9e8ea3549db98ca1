package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/process"
)

// Options describe a control plane. The zero value is an API server without controllers.
type Options struct {
	// ControllerManager also runs kube-controller-manager, with Controllers.
	ControllerManager bool
	// Controllers are the controllers to run; by default the garbage collector, the namespace and the service account
	// controller.
	Controllers []string
	// Audit logs every request, for [ControlPlane.Requests].
	Audit bool
	// SyncWrites makes etcd flush every write to disk, as in production. By default it doesn't, for speed.
	SyncWrites bool
	// APIServerArgs are further flags of kube-apiserver.
	APIServerArgs map[string][]string
	// Dir is the folder for all files, a temporary one if empty. Stop removes it either way.
	Dir string
	// Log, if set, receives the progress of the package.
	Log io.Writer
	// StartTimeout is the timeout for the start of each program, 2 minutes if not set: machines that run tests are busy.
	StartTimeout time.Duration
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	options  Options
	binaries string
	dir      string
	env      *envtest.Environment
	reaper   *reaper
	manager  *process.Process
}

// Available returns nil if Start can work, else a one-line error that says what is missing. It may build the programs, which takes minutes.
func Available(ctx context.Context) error { return Prepare(ctx, io.Discard) }

// Prepare is Available with a report of its progress.
func Prepare(ctx context.Context, progress io.Writer) error {
	_, err := findBinaries(ctx, progress)
	return err
}

func findBinaries(ctx context.Context, progress io.Writer) (string, error) {
	dir := os.Getenv("KUBEBUILDER_ASSETS")
	if dir == "" {
		var err error
		if dir, err = assets.Dir(ctx, "controlplane", progress); err != nil {
			return "", fmt.Errorf("no control plane: KUBEBUILDER_ASSETS is not set, and %w", err)
		}
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("no control plane: %w", err)
		}
	}
	return dir, nil
}

// Start starts a control plane and waits until it serves. The context bounds the start only.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = 2 * time.Minute
	}
	binaries, err := findBinaries(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	dir, err := makeDir(o.Dir)
	if err != nil {
		return nil, err
	}
	p := &ControlPlane{options: o, binaries: binaries, dir: dir}
	if err := p.bringUp(ctx); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func makeDir(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "controlplane-")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

func (p *ControlPlane) bringUp(ctx context.Context) error {
	began := time.Now()
	var err error
	if p.reaper, err = startReaper(p.dir); err != nil {
		return err
	}
	if p.env, err = p.environment(); err != nil {
		return err
	}
	// envtest doesn't take a context; it does keep its timeouts.
	if _, err := p.env.Start(); err != nil {
		return fmt.Errorf("%w; kube-apiserver's log ends with\n%s", err, tail(p.logFile("kube-apiserver"), 20))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.WriteFile(p.Kubeconfig(), p.env.KubeConfig, 0o600); err != nil {
		return err
	}
	if p.options.ControllerManager {
		if err := p.startControllerManager(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.options.Log, "controlplane: %s serves after %v\n", p.env.Config.Host, time.Since(began).Round(time.Millisecond))
	return nil
}

// environment configures envtest to keep everything in the one folder.
func (p *ControlPlane) environment() (*envtest.Environment, error) {
	no := false
	env := &envtest.Environment{
		BinaryAssetsDirectory:    p.binaries,
		UseExistingCluster:       &no,
		ControlPlaneStartTimeout: p.options.StartTimeout,
		ControlPlaneStopTimeout:  time.Minute,
	}
	server := env.ControlPlane.GetAPIServer()
	server.CertDir = filepath.Join(p.dir, "certificates")
	env.ControlPlane.Etcd = &envtest.Etcd{DataDir: filepath.Join(p.dir, "etcd")}
	for _, dir := range []string{server.CertDir, env.ControlPlane.Etcd.DataDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	var err error
	if server.Err, err = os.Create(p.logFile("kube-apiserver")); err != nil {
		return nil, err
	}
	if env.ControlPlane.Etcd.Err, err = os.Create(p.logFile("etcd")); err != nil {
		return nil, err
	}
	if !p.options.SyncWrites {
		env.ControlPlane.Etcd.Configure().Set("unsafe-no-fsync", "true")
	}
	// Ten thousand objects with their history need more than the default quota of 2 GiB.
	env.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", "8589934592")
	args := server.Configure()
	if p.options.Audit {
		if err := p.configureAudit(args); err != nil {
			return nil, err
		}
	}
	for name, values := range p.options.APIServerArgs {
		args.Set(name, values...)
	}
	return env, nil
}

// Stop stops everything and removes the folder.
func (p *ControlPlane) Stop() error {
	var errs []error
	if p.manager != nil {
		if err := p.manager.Terminate(10 * time.Second); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
	}
	if p.env != nil {
		errs = append(errs, p.env.Stop())
		for _, w := range []io.Writer{p.env.ControlPlane.GetAPIServer().Err, p.env.ControlPlane.Etcd.Err} {
			if f, ok := w.(*os.File); ok {
				_ = f.Close()
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		// The reaper still has work to do. Its standard input ends with this process.
		return err
	}
	if p.reaper != nil {
		errs = append(errs, p.reaper.dismiss())
	}
	return errors.Join(append(errs, os.RemoveAll(p.dir))...)
}

// Kubeconfig returns the path of a kubeconfig of an administrator.
func (p *ControlPlane) Kubeconfig() string { return filepath.Join(p.dir, "kubeconfig") }

// RESTConfig returns a client configuration of an administrator, without a limit on the rate of requests.
func (p *ControlPlane) RESTConfig() *rest.Config { return unlimited(p.env.Config) }

func unlimited(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.QPS, c.Burst = -1, 0
	return c
}

// LogFile returns the path of the log of etcd, kube-apiserver or kube-controller-manager.
func (p *ControlPlane) LogFile(program string) string { return p.logFile(program) }

func (p *ControlPlane) logFile(program string) string { return filepath.Join(p.dir, program+".log") }

// InstallCRDs installs all CustomResourceDefinitions in the given files and folders, and waits until they are served.
func (p *ControlPlane) InstallCRDs(paths ...string) error {
	_, err := envtest.InstallCRDs(p.env.Config, envtest.CRDInstallOptions{
		Paths:              paths,
		ErrorIfPathMissing: true,
		MaxTime:            p.options.StartTimeout,
		PollInterval:       50 * time.Millisecond,
	})
	return err
}

// KubectlPath returns the path of kubectl: the control plane's own, else the one on PATH.
func (p *ControlPlane) KubectlPath() (string, error) {
	if path, err := exec.LookPath(filepath.Join(p.binaries, "kubectl")); err == nil {
		return path, nil
	}
	return exec.LookPath("kubectl")
}

// Kubectl runs kubectl as an administrator and returns what it printed.
func (p *ControlPlane) Kubectl(ctx context.Context, args ...string) (string, error) {
	return p.KubectlInput(ctx, "", args...)
}

// KubectlInput is Kubectl with a standard input, for apply -f -.
func (p *ControlPlane) KubectlInput(ctx context.Context, stdin string, args ...string) (string, error) {
	path, err := p.KubectlPath()
	if err != nil {
		return "", err
	}
	var out, problem bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &problem
	// The discovery cache must be in this control plane's folder: another API server may later use the same port.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Kubeconfig(), "KUBECACHEDIR="+filepath.Join(p.dir, "kube-cache"))
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}

// tail returns the last lines of a file.
func tail(path string, lines int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
