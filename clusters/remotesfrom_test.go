package clusters

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestTheListOfClustersIsFollowed(t *testing.T) {
	const east, west = "east.url=https://192.0.2.1\neast.secret=east\n", "west.url=https://192.0.2.2\nwest.secret=west\n"
	w := newWorld(t, func(o *Options) { o.RemotesFrom = "clusters" })
	list := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "clusters"}, Data: map[string]string{RemotesKey: east}}
	members := func() []string {
		var ids []string
		for _, m := range w.set.Members() {
			ids = append(ids, m.ID())
		}
		return ids
	}
	write := func(data map[string]string) {
		list.Data = data
		w.Expect(w.home.Update(t.Context(), list)).To(Succeed())
	}
	w.Expect(w.home.Create(t.Context(), list)).To(Succeed())
	w.Eventually(members).Should(ConsistOf("home", "east"))
	write(map[string]string{RemotesKey: east + west})
	w.Eventually(members).Should(ConsistOf("home", "east", "west"))
	stays := w.member("west")

	// Invalid lists change nothing. The next valid one is applied.
	write(map[string]string{RemotesKey: "north.url=https://192.0.2.3\nnorth.secret=north\nhome.url=https://192.0.2.4\nhome.secret=home\n"})
	write(map[string]string{RemotesKey: "north"})
	write(map[string]string{"other": ""})
	w.Expect(w.home.Delete(t.Context(), list.DeepCopy())).To(Succeed())
	list.ResourceVersion, list.Data = "", map[string]string{RemotesKey: west}
	w.Expect(w.home.Create(t.Context(), list)).To(Succeed())
	w.Eventually(members).Should(ConsistOf("home", "west"))
	w.Expect(w.member("west")).To(BeIdenticalTo(stays), "its connection stays")
}

func TestTheListOfClustersIsReadAtTheStart(t *testing.T) {
	w := newWorld(t)
	name := client.ObjectKey{Namespace: w.ns, Name: "clusters"}
	_, err := ReadRemotes(t.Context(), w.home, name)
	w.Expect(err).To(MatchError(And(HavePrefix("get ConfigMap "+w.ns+"/clusters: "), ContainSubstring("not found"))))
	list := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "clusters"}, Data: map[string]string{"cluster": ""}}
	w.Expect(w.home.Create(t.Context(), list)).To(Succeed())
	_, err = ReadRemotes(t.Context(), w.home, name)
	w.Expect(err).To(MatchError("ConfigMap " + w.ns + "/clusters has no key clusters"))
	list.Data = map[string]string{RemotesKey: "a.secret=a"}
	w.Expect(w.home.Update(t.Context(), list)).To(Succeed())
	_, err = ReadRemotes(t.Context(), w.home, name)
	w.Expect(err).To(MatchError("ConfigMap " + w.ns + "/clusters, key clusters: cluster a has a secret but no url"))
	list.Data = map[string]string{RemotesKey: "a.secret=a\na.url=https://192.0.2.1"}
	w.Expect(w.home.Update(t.Context(), list)).To(Succeed())
	w.Expect(ReadRemotes(t.Context(), w.home, name)).To(Equal([]Remote{{ID: "a", URL: "https://192.0.2.1", Secret: "a"}}))
}

func TestAConfigMapIsFollowed(t *testing.T) {
	w := newWorld(t)
	name := client.ObjectKey{Namespace: w.ns, Name: "settings"}
	read, failed := make(chan string, 10), make(chan error, 10)
	go FollowConfigMap(t.Context(), w.set.secrets, name, func(c *corev1.ConfigMap) { read <- c.Data["a"] }, func(err error) { failed <- err })
	w.Eventually(failed).Should(Receive(MatchError(ContainSubstring("settings does not exist"))))
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "settings"}, Data: map[string]string{"a": "1"}}
	w.Expect(w.home.Create(t.Context(), settings)).To(Succeed())
	w.Eventually(read).Should(Receive(Equal("1")))
	settings.Data["a"] = "2"
	w.Expect(w.home.Update(t.Context(), settings)).To(Succeed())
	w.Eventually(read).Should(Receive(Equal("2")))
	w.Expect(w.home.Delete(t.Context(), settings)).To(Succeed())
	w.Eventually(failed).Should(Receive(MatchError(ContainSubstring("settings does not exist"))))
}
