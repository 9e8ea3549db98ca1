package clusters

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Remote is a remote Kubernetes cluster, its address and its Secret with credentials.
type Remote struct {
	// ID is the name by which objects refer to the cluster (the annotation strimzi.io/stretch-cluster-alias). It has no dot, and is valid as
	// the value of a label.
	ID string
	// URL is the address of the cluster's API server, https or http. It takes precedence over the server in the kubeconfig. Empty: that
	// server.
	URL string
	// Secret is the name of the Secret in the home cluster that holds the kubeconfig, under the key KubeconfigKey.
	Secret string
	// UID is the identity that the cluster must have (see Status.Identity). Empty: the identity that it has when it is first reached.
	UID types.UID
}

// ParseRemotes parses the value of STRIMZI_REMOTE_KUBE_CONFIG: one setting per line, `<id>.url=<url>` or `<id>.secret=<name of a Secret>`,
// both for each cluster. It skips blank lines and lines that start with #. It returns the clusters in the order in which they are first
// named. Its error joins all problems, each with its line.
func ParseRemotes(settings string) ([]Remote, error) {
	var remotes []Remote
	var wrong []error
	for i, line := range strings.Split(settings, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := parseSetting(&remotes, line); err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", i+1, err))
		}
	}
	if len(wrong) == 0 { // what is missing may be in a line that could not be read
		for _, r := range remotes {
			wrong = append(wrong, r.missing()...)
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return remotes, nil
}

func parseSetting(remotes *[]Remote, line string) error {
	key, value, ok := strings.Cut(line, "=") // the first one: values may contain more
	if !ok {
		return fmt.Errorf("%q is not a setting: want <id>.url=<url> or <id>.secret=<name>", line)
	}
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	id, field, ok := strings.Cut(key, ".")
	if !ok || strings.Contains(field, ".") {
		return fmt.Errorf("%q is not a key: want <id>.url or <id>.secret, where the id has no dot", key)
	}
	if err := checkID(id); err != nil {
		return err
	}
	switch field {
	case "url":
		if err := checkURL(value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return set(key, &named(remotes, id).URL, value)
	case "secret":
		if errs := validation.IsDNS1123Subdomain(value); len(errs) > 0 {
			return fmt.Errorf("%s: %q is not the name of a Secret: %s", key, value, strings.Join(errs, "; "))
		}
		return set(key, &named(remotes, id).Secret, value)
	}
	return fmt.Errorf("%q is not a known field of cluster %s: want url or secret", field, id)
}

// named returns the remote with that id, and appends it if it is new.
func named(remotes *[]Remote, id string) *Remote {
	i := slices.IndexFunc(*remotes, func(r Remote) bool { return r.ID == id })
	if i < 0 {
		i = len(*remotes)
		*remotes = append(*remotes, Remote{ID: id})
	}
	return &(*remotes)[i]
}

func set(key string, to *string, value string) error {
	if *to != "" {
		return fmt.Errorf("%s is set twice", key)
	}
	*to = value
	return nil
}

func (r Remote) missing() (wrong []error) {
	if r.URL == "" {
		wrong = append(wrong, fmt.Errorf("cluster %s has a secret but no url", r.ID))
	}
	if r.Secret == "" {
		wrong = append(wrong, fmt.Errorf("cluster %s has a url but no secret", r.ID))
	}
	return wrong
}

// ParseID reads the id of a Kubernetes cluster; an empty text is none.
func ParseID(text string) (string, error) {
	id := strings.TrimSpace(text)
	if id == "" {
		return "", nil
	}
	return id, checkID(id)
}

func checkID(id string) error {
	if id == "" {
		return errors.New("the id of a cluster is empty")
	}
	if errs := validation.IsValidLabelValue(id); len(errs) > 0 || strings.Contains(id, ".") {
		return fmt.Errorf("%q is not the id of a cluster: want at most 63 letters, digits, - and _", id)
	}
	return nil
}

func checkURL(value string) error {
	u, err := url.Parse(value)
	switch {
	case err != nil:
		return fmt.Errorf("no URL: %w", err)
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%q is not the URL of an API server: it must start with https:// or http://", value)
	case u.Host == "":
		return fmt.Errorf("%q is not the URL of an API server: it has no host", value)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("the URL of an API server has a user, a query or a fragment") // not quoted: it may hold a password
	}
	return nil
}

// checkRemotes returns the problems of remotes that were not parsed, and the conflicts between remotes.
func checkRemotes(home string, remotes []Remote) error {
	var wrong []error
	seen := map[string]bool{home: true}
	for _, r := range remotes {
		switch err := checkID(r.ID); {
		case err != nil:
			wrong = append(wrong, err)
		case r.ID == home:
			wrong = append(wrong, fmt.Errorf("cluster %s is the home cluster, and can't be a remote one too", r.ID))
		case seen[r.ID]:
			wrong = append(wrong, fmt.Errorf("cluster %s is listed twice", r.ID))
		}
		seen[r.ID] = true
		if r.Secret == "" {
			wrong = append(wrong, fmt.Errorf("cluster %s has no secret", r.ID))
		}
		if r.URL != "" {
			if err := checkURL(r.URL); err != nil {
				wrong = append(wrong, fmt.Errorf("cluster %s: %w", r.ID, err))
			}
		}
	}
	return errors.Join(wrong...)
}
