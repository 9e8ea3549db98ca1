package model

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

func claimed(id int32, size string) v1.StorageVolume {
	return v1.StorageVolume{Type: v1.StoragePersistentClaim, ID: &id, Size: size}
}

func jbod(volumes ...v1.StorageVolume) v1.Storage {
	return v1.Storage{Type: v1.StorageJBOD, Volumes: volumes}
}

func TestChangesOfStorage(t *testing.T) {
	edited := func(edit func(*v1.StorageVolume)) v1.Storage {
		v := claimed(0, "1Gi")
		edit(&v)
		return jbod(v)
	}
	shared := func(id int32) v1.StorageVolume {
		v := claimed(id, "1Gi")
		v.KraftMetadata = v1.KraftMetadataShared
		return v
	}
	classOf := func(node int32) []v1.StorageOverride {
		return []v1.StorageOverride{{Broker: &node, Class: new("fast")}}
	}
	before := jbod(claimed(0, "1Gi"))
	for name, c := range map[string]struct {
		wanted  v1.Storage
		refused string
	}{
		"nothing":                  {before, ""},
		"a volume more":            {jbod(claimed(0, "1Gi"), claimed(1, "1Gi")), ""},
		"another volume instead":   {jbod(claimed(1, "1Gi")), ""},
		"larger":                   {jbod(claimed(0, "2Gi")), ""},
		"the same in another unit": {jbod(claimed(0, "1024Mi")), ""},
		"deleteClaim":              {edited(func(v *v1.StorageVolume) { v.DeleteClaim = new(true) }), ""},
		"the metadata":             {jbod(shared(0)), ""},
		"volume attributes":        {edited(func(v *v1.StorageVolume) { v.VolumeAttributesClass = "gold" }), ""},
		"smaller":                  {jbod(claimed(0, "512Mi")), `the size of volume 0 can't change from "1Gi" to "512Mi"`},
		"another type": {edited(func(v *v1.StorageVolume) { v.Type = v1.StorageEphemeral }),
			`the type of volume 0 can't change from "persistent-claim" to "ephemeral"`},
		"another type of all": {v1.Storage{Type: v1.StorageEphemeral}, "the type can't change from jbod to ephemeral"},
		"another class": {edited(func(v *v1.StorageVolume) { v.Class = new("fast") }),
			`the class of volume 0 can't change from "default" to "fast"`},
		"another class for a node": {edited(func(v *v1.StorageVolume) { v.Overrides = classOf(3) }),
			`the class for node 3 of volume 0 can't change from "default" to "fast"`},
		"an override without a class": {edited(func(v *v1.StorageVolume) {
			v.Overrides = []v1.StorageOverride{{Broker: new(int32(3))}}
		}), ""},
		"another class for a node that there is not": {edited(func(v *v1.StorageVolume) { v.Overrides = classOf(4) }), ""},
		"another selector": {edited(func(v *v1.StorageVolume) { v.Selector = map[string]string{"a": "b"} }),
			`the selector of volume 0 can't change from "map[]" to "map[a:b]"`},
		"a size limit": {edited(func(v *v1.StorageVolume) { v.SizeLimit = "1Gi" }),
			""},
		"an id twice":                 {jbod(claimed(0, "1Gi"), claimed(0, "1Gi")), "id 0 is used by two volumes"},
		"the metadata on two":         {jbod(shared(0), shared(1)), "only one volume can hold the metadata (kraftMetadata: shared)"},
		"a size that is not a number": {jbod(claimed(0, "much")), `the size of volume 0 can't change from "1Gi" to "much"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			accepted, refused := AcceptStorage(before, c.wanted, []int32{3})
			if c.refused == "" {
				g.Expect(refused).To(BeEmpty())
				g.Expect(accepted).To(Equal(c.wanted))
				return
			}
			g.Expect(refused).To(Equal([]string{c.refused}))
			g.Expect(accepted).To(Equal(before))
		})
	}
}

func TestFieldsOfOtherTypesOfStorageMayChange(t *testing.T) {
	ephemeral := v1.Storage{Type: v1.StorageEphemeral, SizeLimit: "1Gi"}
	single := v1.Storage{Type: v1.StoragePersistentClaim, Size: "1Gi"}
	for name, c := range map[string]struct {
		before v1.Storage
		edit   func(*v1.Storage)
	}{
		"of claims, ephemeral": {ephemeral, func(s *v1.Storage) {
			s.Size, s.Class, s.Selector = "much", new("fast"), map[string]string{"a": "b"}
			s.Overrides = []v1.StorageOverride{{Broker: new(int32(3)), Class: new("fast")}}
		}},
		"sizeLimit of a claim": {single, func(s *v1.Storage) { s.SizeLimit = "2Gi" }},
		"volumes of a claim":   {single, func(s *v1.Storage) { s.Volumes = []v1.StorageVolume{claimed(0, "7Gi")} }},
		"a claim's of jbod": {jbod(claimed(0, "1Gi")), func(s *v1.Storage) {
			s.Size, s.Class, s.Selector, s.SizeLimit = "much", new("fast"), map[string]string{"a": "b"}, "3Gi"
		}},
	} {
		wanted := *c.before.DeepCopy()
		c.edit(&wanted)
		for _, change := range [][2]v1.Storage{{c.before, wanted}, {wanted, c.before}} {
			accepted, refused := AcceptStorage(change[0], change[1], []int32{3})
			NewWithT(t).Expect(refused).To(BeEmpty(), name)
			NewWithT(t).Expect(accepted).To(Equal(change[1]), name)
		}
	}
}

func TestVolumesThatCantGoYetAreKept(t *testing.T) {
	g := NewWithT(t)
	before, wanted := jbod(claimed(0, "1Gi"), claimed(1, "1Gi"), claimed(2, "1Gi")), jbod(claimed(1, "2Gi"), claimed(3, "1Gi"))
	g.Expect(RemovedVolumes(before, wanted)).To(Equal([]int32{0, 2}))
	g.Expect(KeepVolumes(before, wanted, []int32{2}, true)).To(Equal(jbod(claimed(1, "2Gi"), claimed(2, "1Gi"), claimed(3, "1Gi"))))
	g.Expect(wanted.Volumes).To(HaveLen(2))
	three := jbod(claimed(0, "1Gi"), claimed(1, "1Gi"), claimed(2, "1Gi"))
	kept := KeepVolumes(three, jbod(claimed(0, "1Gi"), claimed(2, "1Gi")), []int32{1}, true)
	g.Expect(kept).To(Equal(three), "nothing changes for the nodes")
	one := v1.Storage{Type: v1.StoragePersistentClaim, Size: "1Gi"}
	g.Expect(RemovedVolumes(one, one)).To(BeEmpty())
}

func TestWhereTheMetadataLogIsWhileItsVolumeCantGo(t *testing.T) {
	zero, one, two := claimed(0, "1Gi"), claimed(1, "1Gi"), claimed(2, "1Gi")
	log := func(v v1.StorageVolume) v1.StorageVolume { v.KraftMetadata = v1.KraftMetadataShared; return v }
	for name, c := range map[string]struct{ before, wanted, controllers, brokers v1.Storage }{
		"the lowest id":             {jbod(zero, one), jbod(one), jbod(zero, log(one)), jbod(zero, one)},
		"a volume that says so":     {jbod(one, log(two)), jbod(one), jbod(one, two), jbod(one, log(two))},
		"a lower one is added":      {jbod(one, two), jbod(zero, two), jbod(one, two, zero), jbod(log(one), two, zero)},
		"the user says where":       {jbod(zero, one), jbod(log(one)), jbod(zero, log(one)), jbod(zero, log(one))},
		"brokers moved it already":  {jbod(zero, log(one)), jbod(one), jbod(zero, log(one)), jbod(zero, log(one))},
		"on a volume that is to go": {jbod(log(zero), one, two), jbod(two), jbod(zero, one, log(two)), jbod(log(zero), one, two)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			removed := RemovedVolumes(c.before, c.wanted)
			g.Expect(KeepVolumes(c.before, c.wanted, removed, true)).To(HaveField("Volumes", ConsistOf(c.controllers.Volumes)))
			g.Expect(KeepVolumes(c.before, c.wanted, removed, false)).To(HaveField("Volumes", ConsistOf(c.brokers.Volumes)))
		})
	}
}

func TestWhereTheMetadataLogIs(t *testing.T) {
	passing := func(id int32) v1.StorageVolume { return v1.StorageVolume{Type: v1.StorageEphemeral, ID: &id} }
	shared := func(v v1.StorageVolume) v1.StorageVolume { v.KraftMetadata = v1.KraftMetadataShared; return v }
	for name, c := range map[string]struct {
		storage v1.Storage
		want    int32
	}{
		"the lowest id":                                {jbod(claimed(2, "1Gi"), claimed(1, "1Gi")), 1},
		"the volume that says so":                      {jbod(claimed(1, "1Gi"), shared(claimed(2, "1Gi"))), 2},
		"not on a volume that goes with its pod":       {jbod(passing(0), claimed(1, "1Gi")), 1},
		"on an ephemeral one that is marked as shared": {jbod(shared(passing(0)), claimed(1, "1Gi")), 0},
		"all go with their pod":                        {jbod(passing(3), passing(2)), 2},
		"one volume":                                   {v1.Storage{Type: v1.StoragePersistentClaim}, 0},
		"no volumes":                                   {jbod(), -1},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(MetadataVolume(c.storage)).To(Equal(c.want)) })
	}
}

func TestWhenAVolumeCanBeTakenFromABroker(t *testing.T) {
	dir := func(d kafka.LogDir) []kafka.LogDir {
		d.Path = "/var/lib/kafka/data-1/kafka-log7"
		return []kafka.LogDir{{Path: "/var/lib/kafka/data-0/kafka-log7", Replicas: 3}, d}
	}
	for name, c := range map[string]struct {
		dirs           []kafka.LogDir
		known, cordons bool
		why            string
	}{
		"empty and cordoned":        {dir(kafka.LogDir{Cordoned: true}), true, true, ""},
		"empty, cannot be cordoned": {dir(kafka.LogDir{}), true, false, ""},
		"empty, not cordoned yet":   {dir(kafka.LogDir{}), true, true, "may still get new replicas"},
		"not empty":                 {dir(kafka.LogDir{Replicas: 2, Cordoned: true}), true, true, "holds 2 replicas of partitions: move them"},
		"out of service":            {dir(kafka.LogDir{Failed: true}), true, false, "is offline"},
		"the broker is silent":      {nil, false, true, "the broker did not answer"},
		"the broker runs without":   {dir(kafka.LogDir{})[:1], true, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			why := WhyVolumeStays(7, 1, c.dirs, c.known, c.cordons)
			if c.why == "" {
				g.Expect(why).To(BeEmpty())
				return
			}
			g.Expect(why).To(And(ContainSubstring(c.why), ContainSubstring("volume 1 of broker 7")))
		})
	}
}

func TestWhichKafkaCordons(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Cordons("4.3.1", "4.3-IV0")).To(BeTrue())
	g.Expect(Cordons("4.3.1", "4.2-IV1")).To(BeFalse(), "the metadata version has no cordons")
	g.Expect(Cordons("4.2.0", "4.2-IV1")).To(BeFalse())
	g.Expect(Cordons("4.2.0", "4.3-IV0")).To(BeFalse(), "brokers of that version know no such key")
	g.Expect(Cordons("4.3.1", "")).To(BeFalse(), "nobody knows yet")
}

func TestWhatIsCordoned(t *testing.T) {
	g := NewWithT(t)
	in := rich(t)
	cordoned := func() map[int32]string {
		cordoned := map[int32]string{}
		for _, m := range render(t, in, nil).Manifests {
			for line := range strings.Lines(m.Config.Data["server.config"]) {
				if dirs, found := strings.CutPrefix(line, "cordoned.log.dirs="); found {
					cordoned[m.Node.ID] = strings.TrimSpace(dirs)
				}
			}
		}
		return cordoned
	}
	in.Cordon = Cordon{Renewed: []int32{0, 1}}
	g.Expect(cordoned()).To(BeEmpty(), "none is wanted")
	in.Cordon = Cordon{Volumes: map[string][]int32{"brokers": {1}}, Brokers: []int32{1}}
	g.Expect(cordoned()).To(Equal(map[int32]string{0: "/var/lib/kafka/data-1/kafka-log0", 1: "*"}))
	in.Cordon.Renewed = []int32{1}
	g.Expect(cordoned()).To(Equal(map[int32]string{0: "/var/lib/kafka/data-1/kafka-log0", 1: ""}))
}

func TestTheStorageClassOfAVolume(t *testing.T) {
	for name, class := range map[string]*string{"the default": nil, "none": new(""), "one": new("fast")} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := rich(t)
			in.Pools["brokers"].Spec.Storage.Volumes[0].Class = class
			found := 0
			for _, o := range render(t, in, nil).Objects {
				if claim, ok := o.(*corev1.PersistentVolumeClaim); ok && strings.HasPrefix(claim.Name, "data-0-my-cluster-brokers-") {
					found++
					g.Expect(claim.Spec.StorageClassName).To(Equal(class))
				}
			}
			g.Expect(found).To(BeNumerically(">", 0))
		})
	}
}

func TestOverridesOfTheStorageClass(t *testing.T) {
	v := volume{StorageVolume: v1.StorageVolume{Class: new("slow"), Overrides: []v1.StorageOverride{
		{Broker: new(int32(0))}, {Broker: new(int32(1)), Class: new("fast")}, {Broker: new(int32(0)), Class: new("")}, {Class: new("any")}}}}
	g := NewWithT(t)
	g.Expect([]string{*v.class(0), *v.class(1), *v.class(2)}).To(Equal([]string{"", "fast", "slow"}))
	v.Overrides = v.Overrides[:1]
	g.Expect(*v.class(0)).To(Equal("slow"))
}

func TestARefusedStorageChangeStillKeepsVolumes(t *testing.T) {
	g := NewWithT(t)
	deleted := func(v v1.StorageVolume, remove bool) v1.StorageVolume { v.DeleteClaim = &remove; return v }
	before := jbod(deleted(claimed(0, "2Gi"), true), deleted(claimed(1, "2Gi"), true))
	accepted, refused := AcceptStorage(before, jbod(claimed(0, "1Gi"), deleted(claimed(1, "2Gi"), true)), nil)
	g.Expect(refused).To(ConsistOf(ContainSubstring("size of volume 0")))
	g.Expect(accepted).To(Equal(jbod(claimed(0, "2Gi"), deleted(claimed(1, "2Gi"), true))))
	single := v1.Storage{Type: v1.StoragePersistentClaim, Size: "2Gi", DeleteClaim: new(true)}
	accepted, refused = AcceptStorage(single, jbod(claimed(0, "2Gi")), nil)
	g.Expect(refused).To(HaveLen(1))
	g.Expect(accepted).To(Equal(v1.Storage{Type: v1.StoragePersistentClaim, Size: "2Gi"}))
	accepted, _ = AcceptStorage(v1.Storage{Type: v1.StoragePersistentClaim, Size: "2Gi"},
		v1.Storage{Type: v1.StoragePersistentClaim, Size: "1Gi", DeleteClaim: new(true)}, nil)
	g.Expect(accepted.DeleteClaim).To(BeNil(), "a volume is never deleted because of a refused change")
}

// What a claim says is newer than the storage that nodes were made with, if a user wanted to keep volumes while a Kafka was invalid.
func TestAVolumeWithAKeptClaimIsKept(t *testing.T) {
	deleted := func(v v1.StorageVolume) v1.StorageVolume { v.DeleteClaim = new(true); return v }
	single, ephemeral := v1.Storage{Type: v1.StoragePersistentClaim, Size: "1Gi"}, v1.Storage{Type: v1.StorageEphemeral}
	gone, two := single, jbod(deleted(claimed(0, "1Gi")), deleted(claimed(1, "1Gi")))
	gone.DeleteClaim = new(true)
	for name, c := range map[string]struct {
		before v1.Storage
		claims []string
		want   v1.Storage
	}{
		"one of several":        {two, []string{"data-1-c-p-7"}, jbod(deleted(claimed(0, "1Gi")), claimed(1, "1Gi"))},
		"the only one":          {gone, []string{"data-c-p-7"}, single},
		"none":                  {two, nil, two},
		"only of other volumes": {two, []string{"data-2-c-p-7", "data-c-p-7"}, two},
		"one without claims":    {ephemeral, []string{"data-c-p-7"}, ephemeral},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(WithKept(c.before, c.claims, "c-p")).To(Equal(c.want)) })
	}
}

func TestWhichClaimsAStorageKeeps(t *testing.T) {
	single, three := v1.Storage{Type: v1.StoragePersistentClaim}, v1.Storage{Type: v1.StoragePersistentClaim, ID: new(int32(3))}
	gone := v1.Storage{Type: v1.StoragePersistentClaim, DeleteClaim: new(true)}
	for name, c := range map[string]struct {
		storage v1.Storage
		claim   string
		want    bool
	}{
		"its own":                        {single, "data-c-p-1", true},
		"its own, with an id":            {three, "data-c-p-1", true},
		"of the same volume as jbod":     {single, "data-0-c-p-1", true},
		"jbod":                           {jbod(claimed(1, "1Gi")), "data-1-c-p-1", true},
		"of volume 0 before it was jbod": {jbod(claimed(0, "1Gi")), "data-c-p-1", true},
		"of another volume":              {jbod(claimed(1, "1Gi")), "data-0-c-p-1", false},
		"of another pool":                {single, "data-c-q-1", false},
		"one that is to be deleted":      {gone, "data-c-p-1", false},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(KeepsClaim(c.storage, c.claim, "c-p")).To(Equal(c.want)) })
	}
}

// What happens to claims is read from two places, which must agree: the storage of the user, and the one that nodes keep if a change is
// rejected. Otherwise each pass would change the claims twice.
func TestARejectedChangeKeepsTheClaimsThatItsUserWantsToKeep(t *testing.T) {
	const prefix = "my-cluster-a"
	single := func(kind v1.StorageType, id *int32, deletes bool) v1.Storage {
		return v1.Storage{Type: kind, ID: id, Size: "1Gi", DeleteClaim: &deletes}
	}
	jbod := func(deletes bool, ids ...int32) v1.Storage {
		s := v1.Storage{Type: v1.StorageJBOD}
		for _, id := range ids {
			s.Volumes = append(s.Volumes, v1.StorageVolume{Type: v1.StoragePersistentClaim, ID: &id, Size: "1Gi", DeleteClaim: &deletes})
		}
		return s
	}
	all := func(deletes bool) []v1.Storage {
		return []v1.Storage{jbod(deletes, 0), jbod(deletes, 1, 2), single(v1.StoragePersistentClaim, nil, deletes),
			single(v1.StoragePersistentClaim, new(int32(1)), deletes), single(v1.StorageEphemeral, nil, deletes),
			single(v1.StorageEphemeral, new(int32(1)), deletes)}
	}
	g, rejected := NewWithT(t), 0
	for _, before := range all(true) {
		for _, wanted := range all(false) {
			kept, refused := AcceptStorage(before, wanted, []int32{0})
			if len(refused) == 0 {
				continue
			}
			rejected++
			for _, v := range volumesOf(kept) {
				claim := v.claim(prefix + "-0")
				if v.Type == v1.StoragePersistentClaim {
					g.Expect(KeepsClaim(wanted, claim, prefix)).To(Equal(!value(v.DeleteClaim, false)), "%s -> %s: does the user want to keep %s",
						jsonOf(before), jsonOf(wanted), claim)
				}
			}
		}
	}
	g.Expect(rejected).To(BeNumerically(">=", 10))
}

func TestWhichCordonsABrokerIgnores(t *testing.T) {
	const dir = "/var/lib/kafka/data-1/kafka-log3"
	const cordon = "a=b\ncordoned.log.dirs=/var/lib/kafka/data-0/kafka-log3," + dir + "\n"
	for name, c := range map[string]struct {
		config        string
		dirs          []kafka.LogDir
		away, ignored bool
	}{
		"it ignores it":                {cordon, []kafka.LogDir{{Path: dir}}, false, true},
		"it has taken it over":         {cordon, []kafka.LogDir{{Path: dir, Cordoned: true}, {Path: "/x"}}, false, false},
		"it does not answer":           {cordon, nil, false, false},
		"its volume is offline":        {cordon, []kafka.LogDir{{Path: dir, Failed: true}}, false, false},
		"there is none":                {"a=b\n", []kafka.LogDir{{Path: dir}}, false, false},
		"there is none of this volume": {"cordoned.log.dirs=/x\n", []kafka.LogDir{{Path: dir}}, false, false},
		"one of all its volumes":       {"cordoned.log.dirs=*\n", []kafka.LogDir{{Path: "/x", Cordoned: true}, {Path: dir}}, false, true},
		"which it has taken over":      {"cordoned.log.dirs=*\n", []kafka.LogDir{{Path: dir, Cordoned: true}}, false, false},
		"it was taken away":            {"cordoned.log.dirs=\n", []kafka.LogDir{{Path: dir}}, true, false},
	} {
		g, got := NewWithT(t), CordonIn(c.config)
		g.Expect(got.Away).To(Equal(c.away), name)
		g.Expect(got.Ignored(c.dirs)).To(Equal(c.ignored), name)
	}
}
