package credentials

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
)

// Watcher follows the Secrets that settings name, and calls apply with a new kafka.Config when their content changes. It is a
// manager.Runnable that runs on every replica, so that a new leader has the current credentials.
//
// It gets, lists and watches each Secret by its name: a Role with resourceNames is sufficient.
type Watcher struct {
	client   kubernetes.Interface
	settings credentials.Settings
	apply    func(kafka.Config) error
	log      *slog.Logger

	// last is the material of the current configuration; nil before Load.
	last *credentials.Material
	// problem is why the Secrets' present content is not used, to log it once.
	problem string
}

// NewWatcher returns a Watcher that calls apply with each new configuration, one call at a time. A call delays only the next call. Where it
// returns an error, the last configuration stays in use.
func NewWatcher(client kubernetes.Interface, s credentials.Settings, apply func(kafka.Config) error, log *slog.Logger) *Watcher {
	return &Watcher{client: client, settings: s, apply: apply, log: log}
}

// NeedLeaderElection returns false: the Watcher runs on all replicas.
func (w *Watcher) NeedLeaderElection() bool { return false }

// Load reads the Secrets once, for callers that need a configuration before the manager starts. It does not call apply. It returns an error
// if a Secret is missing or malformed.
func (w *Watcher) Load(ctx context.Context) (kafka.Config, error) {
	secrets := map[string]*corev1.Secret{}
	var errs []error
	for _, name := range w.settings.SecretNames() {
		secret, err := w.client.CoreV1().Secrets(w.settings.SecretNamespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			secrets[name] = secret
		case !apierrors.IsNotFound(err):
			errs = append(errs, fmt.Errorf("read Secret %s in namespace %s (get, list and watch must be allowed): %w", name,
				w.settings.SecretNamespace, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return kafka.Config{}, err
	}
	m, err := read(w.settings, secrets)
	if err != nil {
		return kafka.Config{}, err
	}
	w.last = &m
	return credentials.KafkaConfig(w.settings, m), nil
}

// Start follows the Secrets until the context ends. If Load was not called before, it loads and applies first, and returns the error of
// Load.
func (w *Watcher) Start(ctx context.Context) error {
	if w.last == nil {
		config, err := w.Load(ctx)
		if err != nil {
			return err
		}
		if err := w.apply(config); err != nil {
			return err
		}
	}
	// A buffer of one is sufficient: the receiver reads the current state of all Secrets.
	changed := make(chan struct{}, 1)
	stores := map[string]cache.Store{}
	var synced []cache.InformerSynced
	var stops []func()
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		for _, stop := range stops {
			stop()
		}
	}()
	for _, name := range w.settings.SecretNames() {
		informer, stop, err := w.informer(ctx, name, changed)
		if err != nil {
			return err
		}
		stops = append(stops, stop)
		stores[name] = informer.GetStore()
		synced = append(synced, informer.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil // the context ended
	}
	for {
		w.sync(stores)
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// informer starts to follow one Secret. Calling stop, after the context has ended, waits until the informer has ended.
func (w *Watcher) informer(ctx context.Context, name string, changed chan<- struct{}) (cache.SharedIndexInformer, func(), error) {
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithNamespace(w.settings.SecretNamespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}))
	informer := factory.Core().V1().Secrets().Informer()
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { notify() },
		UpdateFunc: func(_, _ any) { notify() },
		DeleteFunc: func(any) { notify() },
	})
	if err == nil {
		err = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			w.log.Warn("Failed to watch a Secret; the operator misses its changes until the watch works again", "secret", name, "namespace",
				w.settings.SecretNamespace, "error", err)
		})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("watch Secret %s: %w", name, err)
	}
	factory.StartWithContext(ctx)
	return informer, factory.Shutdown, nil
}

// sync compares the Secrets with the current configuration. Secrets that became invalid do not end working connections.
func (w *Watcher) sync(stores map[string]cache.Store) {
	secrets := map[string]*corev1.Secret{}
	for name, store := range stores {
		object, _, _ := store.GetByKey(w.settings.SecretNamespace + "/" + name) // never fails in a store of client-go's
		if secret, ok := object.(*corev1.Secret); ok {
			secrets[name] = secret
		}
	}
	m, err := read(w.settings, secrets)
	changed := err == nil && m != *w.last
	if changed {
		err = w.apply(credentials.KafkaConfig(w.settings, m))
	}
	switch {
	case err != nil:
		if w.problem != err.Error() {
			w.log.Warn("Failed to apply the Secrets for Kafka; the last valid ones stay in use", "error", err)
		}
		w.problem = err.Error()
		return
	case changed:
		w.log.Info("Applied the changed Secrets for Kafka", "secrets", w.settings.SecretNames(), "namespace",
			w.settings.SecretNamespace)
		w.last = &m
	case w.problem != "":
		w.log.Info("Secrets for Kafka match the credentials in use again")
	}
	w.problem = ""
}

func read(s credentials.Settings, secrets map[string]*corev1.Secret) (credentials.Material, error) {
	entries := credentials.Secrets{}
	for name, secret := range secrets {
		if secret != nil {
			entries[name] = secret.Data
		}
	}
	return credentials.Read(s, entries)
}
