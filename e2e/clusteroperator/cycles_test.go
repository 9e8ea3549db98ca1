//go:build linux

package clusteroperator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
)

// All life cycles, one after the other, on one Kafka. Those of ordinary test runs are in life_test.go.
var _ = Describe("a Kafka with controllers and brokers of their own", Ordered, func() {
	if !full {
		return
	}
	k := &cluster{namespace: "busy", name: "busy", manifest: "separate.yaml", nodes: 6}
	var kept []string

	BeforeAll(func() {
		createNamespace(k.namespace)
		whileKilled(func() { report("from apply to Ready", k.apply()) })
		k.createTopic("kept")
		kept = k.write("kept", 500, func() {})
	})
	AfterEach(func() {
		if !CurrentSpecReport().Failed() {
			k.holds("kept", kept)
		}
	})

	It("is upgraded, taken back, and upgraded for good", func() {
		k.through("an upgrade that keeps the metadata version", func() {
			k.patch("kafka", k.name, `{"spec":{"kafka":{"version":"4.3.1","metadataVersion":"4.2-IV1"}}}`)
			k.runs("4.3.1", "4.2-IV1")
		})
		k.through("back to the version before", func() {
			k.patch("kafka", k.name, `{"spec":{"kafka":{"version":"4.2.0"}}}`)
			k.runs("4.2.0", "4.2-IV1")
		})
		k.through("an upgrade, the metadata included, with a machine's power cut in the middle", func() {
			before := k.readyPods(Default)
			k.patch("kafka", k.name, `{"spec":{"kafka":{"version":"4.3.1","metadataVersion":null}}}`)
			Eventually(func(g Gomega) {
				g.Expect(k.readyPods(g)).To(And(HaveLen(k.nodes), Not(Equal(before))), "some nodes run the new version")
			}).WithTimeout(rolling).Should(Succeed(), func() string { return said(k.namespace) })
			lost := home.Nodes()[1]
			Expect(lost.PowerOff(ctx)).To(Succeed())
			Eventually(func(g Gomega) { g.Expect(len(k.readyPods(g))).To(BeNumerically("<=", k.nodes-2)) }).
				Should(Succeed(), func() string { return said(k.namespace) })
			Expect(k.object(Default).Status.KafkaMetadataVersion).To(Equal("4.2-IV1"), "old nodes could not read newer metadata")
			Expect(lost.PowerOn()).To(Succeed())
			k.runs("4.3.1", "4.3-IV0")
		})
	})

	It("makes a killed pod again", func() { k.through("a killed pod", func() { k.losePod(k.readyPods(Default)) }) })

	It("gets two brokers more, and gives them back", func() {
		k.through("3 brokers, 5 brokers, 3 brokers", func() { k.joinAndLeave("brokers", []int32{0, 1, 2}, []int32{3, 4}) })
	})

	It("gets a new certificate of its CA", func() { k.through("renewal of the CA", k.renewCA) })

	It("gets a new key of its CA", func() { k.through("replacement of the CA's key", k.replaceCAKey) })

	It("comes back after all its certificates have expired, that of its CA too, while no operator was there", func() {
		report("all certificates had expired, from the return of the operators to Ready", k.expireWithoutOperators())
		k.inSync(k.admin())
	})

	It("takes the user's own CA", func() { k.through("change to the user's CA", k.supplyCA) })

	It("loses a volume, after what is on it was moved", func() {
		k.through("a volume less", func() {
			k.loseVolume("brokers", []int32{0, 1, 2}, `{"volumes":[{"id":0,"type":"persistent-claim","size":"1Gi"}]}`)
		})
	})

	It("gets larger volumes", func() {
		k.through("larger volumes", func() { k.grow("brokers", `{"volumes":[{"id":0,"type":"persistent-claim","size":"2Gi"}]}`) })
	})

	It("lives through the loss of a machine's power", func() {
		lost := home.Nodes()[2]
		began := time.Now()
		k.createTopic("without-power")
		k.write("without-power", 300, func() {
			Expect(lost.PowerOff(ctx)).To(Succeed())
			Eventually(func(g Gomega) {
				g.Expect(conditions(k.object(g).Status.Conditions)).To(HaveKeyWithValue(v1.ConditionReady, HavePrefix("False")))
			}).Should(Succeed(), func() string { return said(k.namespace) })
			report("a lost machine shows in the status", time.Since(began))
			Expect(lost.PowerOn()).To(Succeed())
			k.ready()
		})
		report("a machine's power off and back", time.Since(began))
		k.inSync(k.admin())
	})

	It("is rolled while the API server is away for a minute", func() {
		// A setting of brokers, which requires no restart of controllers.
		brokers := func(g Gomega) map[string]types.UID {
			ready := k.readyPods(g)
			maps.DeleteFunc(ready, func(name string, _ types.UID) bool { return !strings.Contains(name, "-brokers-") })
			return ready
		}
		before := brokers(Default)
		Expect(before).To(HaveLen(3))
		k.through("a roll with the API server away for a minute", func() {
			k.patch("kafka", k.name, `{"spec":{"kafka":{"config":{"auto.create.topics.enable":false}}}}`)
			Eventually(func(g Gomega) { g.Expect(brokers(g)).NotTo(Equal(before)) }).Should(Succeed(), func() string { return said(k.namespace) })
			withoutAPIServer(time.Minute)
			for name, uid := range before {
				Eventually(func(g Gomega) { g.Expect(brokers(g)).To(HaveKeyWithValue(name, Not(Equal(uid)))) }).
					WithTimeout(rolling).Should(Succeed(), func() string { return said(k.namespace) })
			}
		})
	})

	It("stops when it is hibernated, its controllers last, and wakes with its records", func() {
		volumes, before := k.volumes(), k.readyPods(Default)
		began := time.Now()
		kubectl("annotate", "kafka", k.name, "-n", k.namespace, v1.AnnotationHibernate+"=true")
		whileKilled(func() {
			var brokers, controllers int
			Eventually(func(g Gomega) {
				brokers, controllers = 0, 0
				for _, pod := range k.pods(g) {
					if strings.Contains(pod.Name, "-controllers-") {
						controllers++
					} else {
						brokers++
					}
				}
				if brokers > 0 && controllers < 3 {
					StopTrying(fmt.Sprintf("%d controllers run, and %d brokers", controllers, brokers)).Now()
				}
				g.Expect(brokers + controllers).To(BeZero())
			}).Should(Succeed(), func() string { return said(k.namespace) })
		})
		Eventually(func(g Gomega) {
			g.Expect(conditions(k.object(g).Status.Conditions)).To(HaveKeyWithValue(v1.ConditionReady, HavePrefix("False Hibernated no node runs")))
		}).Should(Succeed(), func() string { return said(k.namespace) })
		report("hibernation", time.Since(began))
		began = time.Now()
		kubectl("annotate", "kafka", k.name, "-n", k.namespace, v1.AnnotationHibernate+"-")
		k.ready()
		report("awake again", time.Since(began))
		Expect(k.volumes()).To(Equal(volumes))
		Expect(slices.Sorted(maps.Keys(k.readyPods(Default)))).To(Equal(slices.Sorted(maps.Keys(before))))
		k.inSync(k.admin())
	})

	It("has its records again when it is deleted and applied again", func() {
		volumes, id := k.volumes(), k.object(Default).Status.ClusterID
		whileKilled(func() {
			kubectl("delete", "-n", k.namespace, "-f", k.path())
			Eventually(func(g Gomega) { g.Expect(k.pods(g)).To(BeEmpty()) }).Should(Succeed(), func() string { return said(k.namespace) })
			report("from applying again to Ready", k.apply())
		})
		kept := k.volumes()
		for id := range 3 { // an earlier cycle removed volume 1 of the brokers, and the manifest adds it again
			name := fmt.Sprintf("data-1-%s-brokers-%d", k.name, id)
			Expect(kept).To(HaveKey(name))
			Expect(volumes).NotTo(HaveKey(name))
			delete(kept, name)
		}
		Expect(kept).To(Equal(volumes))
		Expect(k.object(Default).Status.ClusterID).To(Equal(id))
		k.inSync(k.admin())
	})
})

// withoutAPIServer stops the API server for a while. The promise is about this time, so the function does not wait for anything.
func withoutAPIServer(during time.Duration) {
	GinkgoHelper()
	control := home.Nodes()[0]
	Expect(control.Stop(realnodes.APIServer)).To(Succeed())
	timer := time.NewTimer(during)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	Expect(control.Start(realnodes.APIServer)).To(Succeed())
	Eventually(func() error {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return k8s.Get(limited, client.ObjectKey{Name: "default"}, &corev1.Namespace{})
	}).Should(Succeed())
}
