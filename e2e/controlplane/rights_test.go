package controlplane

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestARightThatNobodyUsesIsFound has rights, requests, and which of the rights these do not need.
func TestARightThatNobodyUsesIsFound(t *testing.T) {
	pods := Right{Verb: "get", Resource: "pods"}
	here := Right{Verb: "get", Resource: "pods", Namespace: "here"}
	one := Right{Verb: "get", Resource: "pods", Namespace: "here", Name: "one"}
	get := Request{Verb: "get", Resource: "pods", Namespace: "here", Name: "one", Code: 404}
	create := Right{Verb: "create", Group: "apps", Resource: "deployments"}
	patch := Right{Verb: "patch", Group: "apps", Resource: "deployments"}
	apply := func(code int) Request {
		return Request{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "here", Name: "one", Code: code}
	}
	for name, c := range map[string]struct {
		rights   []Right
		requests []Request
		unused   []Right
	}{
		"nobody asked":                  {[]Right{pods}, nil, []Right{pods}},
		"it was used":                   {[]Right{pods}, []Request{get}, nil},
		"a narrower right is enough":    {[]Right{pods, here, one}, []Request{get}, []Right{pods, here}},
		"another namespace":             {[]Right{here}, []Request{{Verb: "get", Resource: "pods", Namespace: "there"}}, []Right{here}},
		"another object":                {[]Right{one}, []Request{{Verb: "get", Resource: "pods", Namespace: "here", Name: "two"}}, []Right{one}},
		"another verb":                  {[]Right{pods}, []Request{{Verb: "list", Resource: "pods"}}, []Right{pods}},
		"another group":                 {[]Right{pods}, []Request{{Verb: "get", Group: "apps", Resource: "pods"}}, []Right{pods}},
		"a subresource":                 {[]Right{pods}, []Request{{Verb: "get", Resource: "pods", Subresource: "log"}}, []Right{pods}},
		"it was refused":                {[]Right{pods}, []Request{{Verb: "get", Resource: "pods", Code: 403}}, []Right{pods}},
		"something is applied":          {[]Right{create, patch}, []Request{apply(201)}, nil},
		"something is applied again":    {[]Right{create, patch}, []Request{apply(200)}, []Right{create}},
		"what is watched may be listed": {[]Right{{Verb: "list", Resource: "pods"}}, []Request{{Verb: "watch", Resource: "pods"}}, nil},
		"all is allowed":                {[]Right{{Verb: "*", Resource: "pods"}}, []Request{get}, []Right{{Verb: "*", Resource: "pods"}}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Unused(c.rights, c.requests)).To(Equal(append([]Right{}, c.unused...)))
		})
	}
}
