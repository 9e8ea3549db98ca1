package clusters

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestRemotesAreReadAsTheProposalWritesThem(t *testing.T) {
	g := NewWithT(t)
	remotes, err := ParseRemotes(`cluster-east.url=https://api.cluster-east.example.com:6443
cluster-east.secret=kubeconfig-cluster-east
cluster-west.url=https://api.cluster-west.example.com:6443
cluster-west.secret=kubeconfig-cluster-west
`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(remotes).To(Equal([]Remote{
		{ID: "cluster-east", URL: "https://api.cluster-east.example.com:6443", Secret: "kubeconfig-cluster-east"},
		{ID: "cluster-west", URL: "https://api.cluster-west.example.com:6443", Secret: "kubeconfig-cluster-west"},
	}))
}

func TestRemotesMayBeWrittenLoosely(t *testing.T) {
	g := NewWithT(t)
	remotes, err := ParseRemotes("\n  # two lines\r\n\teast.secret = s.with-dots \r\n\neast.url=http://[::1]:8080/k8s/clusters/c=1\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(remotes).To(Equal([]Remote{{ID: "east", URL: "http://[::1]:8080/k8s/clusters/c=1", Secret: "s.with-dots"}}))
	g.Expect(ParseRemotes(" \n#nothing\n")).To(BeEmpty())
}

func TestWhatIsWrongWithRemotesIsSaid(t *testing.T) {
	for name, c := range map[string]struct{ settings, message string }{
		"no equals sign":   {"east.url", `line 1: "east.url" is not a setting`},
		"no dot":           {"\neast=https://x", `line 2: "east" is not a key`},
		"two dots":         {"a.b.url=https://x", `"a.b.url" is not a key`},
		"no id":            {".url=https://x", `the id of a cluster is empty`},
		"odd id":           {"e st.url=https://x", `"e st" is not the id`},
		"unknown field":    {"east.token=x", `"token" is not a known field of cluster east`},
		"no scheme":        {"east.url=x:6443", `is not the URL`},
		"other scheme":     {"east.url=ftp://x", `it must start with https:// or http://`},
		"no host":          {"east.url=https://", `it has no host`},
		"password":         {"east.url=https://u:p@x", `has a user, a query or a fragment`},
		"no secret's name": {"east.secret=A_B", `"A_B" is not the name of a Secret`},
		"empty secret":     {"east.secret=", `"" is not the name of a Secret`},
		"url twice":        {"east.url=https://x\neast.url=https://x", `line 2: east.url is set twice`},
		"no url":           {"east.secret=s", `cluster east has a secret but no url`},
		"no secret":        {"east.url=https://x", `cluster east has a url but no secret`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			remotes, err := ParseRemotes(c.settings)
			g.Expect(err).To(MatchError(ContainSubstring(c.message)))
			g.Expect(remotes).To(BeNil())
		})
	}
	g := NewWithT(t)
	_, err := ParseRemotes("a\nb.x=1\nc.url=https://x")
	g.Expect(strings.Split(err.Error(), "\n")).To(HaveLen(2), "everything is said, but nothing that may only seem wrong")
	_, err = ParseRemotes("east.url=https://u:secret@x")
	g.Expect(err.Error()).NotTo(ContainSubstring("secret@"))
}

func TestRemotesHaveToFitTogether(t *testing.T) {
	east := Remote{ID: "east", Secret: "s"}
	g := NewWithT(t)
	g.Expect(checkRemotes("home", []Remote{east, {ID: "west", Secret: "s", URL: "https://x"}})).To(Succeed())
	g.Expect(checkRemotes("east", []Remote{east})).To(MatchError(ContainSubstring("is the home cluster")))
	g.Expect(checkRemotes("home", []Remote{east, east})).To(MatchError(ContainSubstring("listed twice")))
	g.Expect(checkRemotes("home", []Remote{{ID: "east"}})).To(MatchError(ContainSubstring("has no secret")))
	g.Expect(checkRemotes("home", []Remote{{Secret: "s"}})).To(MatchError(ContainSubstring("is empty")))
	g.Expect(checkRemotes("home", []Remote{{ID: "east", Secret: "s", URL: "x"}})).To(MatchError(ContainSubstring("is not the URL")))
}

func FuzzParseRemotes(f *testing.F) {
	f.Add("east.url=https://x\neast.secret=s")
	f.Add("a.url\n#\n=.")
	f.Fuzz(func(t *testing.T, settings string) {
		g := NewWithT(t)
		remotes, err := ParseRemotes(settings)
		if err != nil {
			g.Expect(remotes).To(BeNil())
			return
		}
		g.Expect(checkRemotes("a.b", remotes)).To(Succeed(), "what is read is fit for use")
		var again strings.Builder
		for _, r := range remotes {
			again.WriteString(r.ID + ".url=" + r.URL + "\n" + r.ID + ".secret=" + r.Secret + "\n")
		}
		g.Expect(ParseRemotes(again.String())).To(Equal(remotes))
	})
}
