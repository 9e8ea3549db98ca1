package controlplane

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/process"
)

var defaultControllers = []string{"garbage-collector-controller", "namespace-controller", "serviceaccount-controller"}

func (p *ControlPlane) startControllerManager(ctx context.Context) error {
	program, err := exec.LookPath(filepath.Join(p.binaries, "kube-controller-manager"))
	if err != nil {
		return fmt.Errorf("no controller manager: %w", err)
	}
	user, err := p.AddUser("system:kube-controller-manager", "system:masters")
	if err != nil {
		return err
	}
	controllers := p.options.Controllers
	if len(controllers) == 0 {
		controllers = defaultControllers
	}
	args := []string{
		program,
		"--kubeconfig=" + user.Kubeconfig,
		"--controllers=" + strings.Join(controllers, ","),
		"--leader-elect=false",
		"--secure-port=0",
		"--service-account-private-key-file=" + filepath.Join(p.dir, "certificates", "sa-signer.key"),
		// Objects are deleted soon after their owners, even if a test deletes a thousand.
		"--kube-api-qps=500", "--kube-api-burst=1000",
	}
	if p.manager, err = process.Start(process.Options{Args: args, Output: p.logFile("kube-controller-manager")}); err != nil {
		return err
	}
	if strings.Contains(strings.Join(controllers, ","), "serviceaccount-controller") {
		return p.awaitServiceAccount(ctx)
	}
	return nil
}

// awaitServiceAccount waits for the first object that the controller manager creates.
func (p *ControlPlane) awaitServiceAccount(ctx context.Context) error {
	c, err := client.New(p.RESTConfig(), client.Options{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.options.StartTimeout)
	defer cancel()
	const pause = 50 * time.Millisecond
	for {
		account := corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}}
		last := c.Get(ctx, client.ObjectKeyFromObject(&account), &account)
		if last == nil {
			return nil
		}
		select {
		case <-p.manager.Exited():
			return fmt.Errorf("kube-controller-manager ended; its log ends with\n%s", tail(p.logFile("kube-controller-manager"), 20))
		case <-ctx.Done():
			return fmt.Errorf("kube-controller-manager makes no service account: %w (%w)", ctx.Err(), last)
		case <-time.After(pause):
		}
	}
}
