package roller_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/proofs/simulator"
)

// patient returns a policy with this many brokers unavailable at once.
func patient(most int) roller.Policy {
	return roller.Policy{MaxUnavailable: most, Patience: 5 * time.Minute, Silence: 2 * time.Minute, Stall: 5 * time.Minute,
		QuorumFetchTimeout: 2 * time.Second}
}

// limited returns a patient policy with more limits: by rack, by share of leaders, and a settle time.
func limited(most, rack int, leaders float64, settle time.Duration) roller.Policy {
	p := patient(most)
	p.MaxPerRack, p.MaxLeaderShare, p.Settle = rack, leaders, settle
	return p
}

// known are histories that once broke a rule, shrunk to the shortest form.
var known = []struct {
	name    string
	history simulator.History
}{
	{"a broker is silent, and another one of its Kubernetes cluster is seen by nobody", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 0, Roles: roller.Roles{Broker: true}, Rack: "r0", Outdated: true, Stop: 9 * time.Second, Boot: 52 * time.Second, Rate: 2},
			{ID: 1, Roles: roller.Roles{Broker: true}, Rack: "r1", Place: "east", Outdated: true, Stop: 3 * time.Second,
				Boot: 18 * time.Second, Rate: 2},
			{ID: 4, Roles: roller.Roles{Broker: true}, Rack: "r1", Place: "east", Stop: 9 * time.Second, Boot: 39 * time.Second, Rate: 7},
		}, Topics: []simulator.Topic{
			{Name: "t1", MinISR: 3, Partitions: [][]roller.NodeID{{1}}},
			{Name: "t2", MinISR: 2, Partitions: [][]roller.NodeID{{1, 4}}},
		}, Policy: limited(3, 0, 0.2, 0)},
		Steps: []simulator.Step{
			{Do: "mute", Node: 4, Arg: 27432},
			{Do: "unlist", Node: 1, Arg: 44540},
			{Do: "look", Node: 1, Arg: 57129},
			{Do: "delete", Node: 5, Arg: 59333},
			{Do: "pass", Node: 6, Arg: 29734},
			{Do: "look", Node: 8, Arg: 62592},
		}}},
	{"two brokers refuse the roller, and nobody else", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 1, Roles: roller.Roles{Broker: true}, Rack: "r1", Place: "east", Stop: 9 * time.Second, Boot: 24 * time.Second, Rate: 14},
			{ID: 2, Roles: roller.Roles{Broker: true}, Rack: "r0", Place: "west", Outdated: true, Stop: 9 * time.Second,
				Boot: 36 * time.Second, Rate: 1},
			{ID: 3, Roles: roller.Roles{Broker: true}, Rack: "r1", Outdated: true, Stop: 9 * time.Second, Boot: 35 * time.Second, Rate: 7},
		}, Policy: limited(3, 2, 0.5, 10*time.Second)},
		Steps: []simulator.Step{
			{Do: "create", Node: 1, Arg: 5972},
			{Do: "refuse", Node: 3, Arg: 46529},
			{Do: "refuse", Node: 2, Arg: 48829},
		}}},
	{"brokers before Kafka 4.0 do not tell the rack of one that is down", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 0, Roles: roller.Roles{Broker: true}, Rack: "r0", Outdated: true, Stop: 8 * time.Second, Boot: 36 * time.Second, Rate: 13},
			{ID: 1, Roles: roller.Roles{Broker: true}, Rack: "r0", Place: "east", Outdated: true, Stop: 7 * time.Second,
				Boot: 39 * time.Second, Rate: 9},
		}, Policy: limited(3, 1, 0, 0), Old: true}}},
	{"the controllers find no leader, and nobody can read the log of the other combined node", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 0, Roles: roller.Roles{Controller: true, Broker: true}, Rack: "r0", Outdated: true, Stop: 2 * time.Second,
				Boot: 26 * time.Second, Rate: 6},
			{ID: 3, Roles: roller.Roles{Controller: true, Broker: true}, Rack: "r1", Stop: 1 * time.Second, Boot: 24 * time.Second, Rate: 18},
		}, Policy: patient(2), Old: true},
		Steps: []simulator.Step{
			{Do: "mum", Node: 3, Arg: 28218},
			{Do: "wedge", Node: 1, Arg: 53815},
			{Do: "evict", Node: 3, Arg: 8323},
		}}},
	{"a broker on hold can't take up what is stored, and refuses another key for all", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 0, Roles: roller.Roles{Broker: true}, Rack: "r0", Outdated: true, Stop: 6 * time.Second, Boot: 12 * time.Second, Rate: 10},
			{ID: 1, Roles: roller.Roles{Broker: true}, Rack: "r1", Place: "east", Stop: 10 * time.Second, Boot: 21 * time.Second, Rate: 5},
			{ID: 5, Roles: roller.Roles{Controller: true}, Outdated: true, Stop: 10 * time.Second, Boot: 25 * time.Second, Rate: 7},
			{ID: 6, Roles: roller.Roles{Controller: true}, Place: "east", Outdated: true, Stop: 8 * time.Second, Boot: 12 * time.Second, Rate: 2},
		}, Policy: patient(1), Old: true},
		Steps: []simulator.Step{
			{Do: "abandon", Node: 0, Arg: 49772},
			{Do: "pause", Node: 5, Arg: 23629},
			{Do: "pause", Node: 4, Arg: 6877},
			{Do: "configure", Node: 5, Arg: 47824},
			{Do: "look", Node: 2, Arg: 546},
			{Do: "configure", Node: 6, Arg: 53284},
			{Do: "look", Node: 4, Arg: 49870},
			{Do: "look", Node: 7, Arg: 25412},
			{Do: "configure", Node: 1, Arg: 19883},
		}}},
	{"no broker can take up what is stored, and none may be restarted because of one that is lost", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 0, Roles: roller.Roles{Broker: true}, Outdated: true, Stop: 8 * time.Second, Boot: 48 * time.Second, Rate: 6},
			{ID: 1, Roles: roller.Roles{Broker: true}, Outdated: true, Stop: 2 * time.Second, Boot: 14 * time.Second, Rate: 9},
			{ID: 2, Roles: roller.Roles{Broker: true}, Outdated: true, Stop: 9 * time.Second, Boot: 49 * time.Second, Rate: 17},
			{ID: 3, Roles: roller.Roles{Controller: true}, Outdated: true, Stop: 7 * time.Second, Boot: 30 * time.Second, Rate: 10},
		}, Topics: []simulator.Topic{
			{Name: "t2", MinISR: 3, Partitions: [][]roller.NodeID{{2, 0, 1}}}}, Policy: patient(1)},
		Steps: []simulator.Step{
			{Do: "configure", Node: 3, Arg: 63754},
			{Do: "cut", Node: 1, Arg: 29038},
			{Do: "abandon", Node: 2, Arg: 52775},
			{Do: "hold", Node: 3, Arg: 19875},
			{Do: "hang", Node: 2, Arg: 33412},
			{Do: "cut", Node: 1, Arg: 25269},
			{Do: "look", Node: 0, Arg: 41351},
			{Do: "crash", Node: 3, Arg: 42627},
			{Do: "configure", Node: 0, Arg: 42470},
			{Do: "crash", Node: 1, Arg: 23307},
		}}},
	{"the only controller was restarted and is wedged before anybody looks again, so that it seems not to be back", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 0, Roles: roller.Roles{Broker: true}, Outdated: true, Stop: 3 * time.Second, Boot: 18 * time.Second, Rate: 15},
			{ID: 6, Roles: roller.Roles{Broker: true}, Outdated: true, Stop: 8 * time.Second, Boot: 10 * time.Second, Rate: 4},
			{ID: 8, Roles: roller.Roles{Controller: true}, Outdated: true, Stop: 9 * time.Second, Boot: 38 * time.Second, Rate: 11}},
			Policy: patient(1)},
		Steps: []simulator.Step{
			{Do: "look", Node: 7, Arg: 20444},
			{Do: "hang", Node: 6, Arg: 14066},
			{Do: "pass", Node: 8, Arg: 19745},
			{Do: "wedge", Node: 8, Arg: 60389},
			{Do: "look", Node: 7, Arg: 33994},
			{Do: "pass", Node: 7, Arg: 50109},
			{Do: "mute", Node: 6, Arg: 1115},
		}}},
	{"a voter that is wedged has the only replicas but those of a lost broker, so that the last voters have to stay", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 0, Roles: roller.Roles{Controller: true, Broker: true}, Rack: "r0", Outdated: true, Stop: 5 * time.Second,
				Boot: 31 * time.Second, Rate: 10},
			{ID: 3, Roles: roller.Roles{Controller: true, Broker: true}, Rack: "r0", Outdated: true, Stop: 5 * time.Second,
				Boot: 8 * time.Second, Rate: 4},
			{ID: 4, Roles: roller.Roles{Controller: true, Broker: true}, Rack: "r0", Place: "east", Outdated: true, Stop: 3 * time.Second,
				Boot: 51 * time.Second, Rate: 10},
			{ID: 5, Roles: roller.Roles{Broker: true}, Rack: "r0", Place: "west", Outdated: true, Stop: 1 * time.Second,
				Boot: 17 * time.Second, Rate: 20},
			{ID: 9, Roles: roller.Roles{Broker: true}, Rack: "r0", Outdated: true, Stop: 2 * time.Second, Boot: 9 * time.Second, Rate: 9},
		}, Topics: []simulator.Topic{
			{Name: "t1", MinISR: 3, Partitions: [][]roller.NodeID{{9, 0}}},
		}, Policy: limited(1, 2, 0, 60*time.Second)},
		Steps: []simulator.Step{
			{Do: "abandon", Node: 9, Arg: 58123},
			{Do: "crash", Node: 9, Arg: 53202},
			{Do: "wedge", Node: 4, Arg: 35817},
			{Do: "crash", Node: 3, Arg: 38270},
			{Do: "lose", Node: 5, Arg: 20980},
		}}},
	{"a broker on hold refuses everybody, so that nobody waits for it", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 0, Roles: roller.Roles{Broker: true}, Rack: "r0", Outdated: true, Stop: 6 * time.Second, Boot: 12 * time.Second, Rate: 3},
			{ID: 1, Roles: roller.Roles{Broker: true}, Rack: "r1", Place: "east", Outdated: true, Stop: 2 * time.Second,
				Boot: 31 * time.Second, Rate: 5},
			{ID: 2, Roles: roller.Roles{Broker: true}, Rack: "r2", Place: "west", Outdated: true, Stop: 1 * time.Second,
				Boot: 10 * time.Second, Rate: 1},
			{ID: 4, Roles: roller.Roles{Broker: true}, Rack: "r1", Place: "east", Stop: 5 * time.Second, Boot: 20 * time.Second, Rate: 14},
			{ID: 5, Roles: roller.Roles{Broker: true}, Rack: "r2", Place: "west", Stop: 7 * time.Second, Boot: 13 * time.Second, Rate: 12},
		}, Topics: []simulator.Topic{
			{Name: "t0", MinISR: 2, Partitions: [][]roller.NodeID{{2, 0, 1, 4}}},
		}, Policy: limited(1, 0, 0.2, 0)},
		Steps: []simulator.Step{
			{Do: "expire", Node: 8, Arg: 13013},
			{Do: "abandon", Node: 1, Arg: 33808},
			{Do: "evict", Node: 4, Arg: 11052},
			{Do: "pass", Node: 8, Arg: 47465},
		}}},
	{"another key is in the way three times at once", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 0, Roles: roller.Roles{Broker: true}, Rack: "r0", Stop: 5 * time.Second, Boot: 28 * time.Second, Rate: 8},
			{ID: 1, Roles: roller.Roles{Broker: true}, Rack: "r0", Place: "east", Outdated: true, Stop: 5 * time.Second,
				Boot: 16 * time.Second, Rate: 14},
			{ID: 3, Roles: roller.Roles{Broker: true}, Rack: "r0", Stop: 3 * time.Second, Boot: 33 * time.Second, Rate: 11},
			{ID: 4, Roles: roller.Roles{Broker: true}, Rack: "r0", Place: "east", Stop: 1 * time.Second, Boot: 35 * time.Second, Rate: 5},
			{ID: 5, Roles: roller.Roles{Broker: true}, Rack: "r0", Place: "west", Outdated: true, Stop: 1 * time.Second,
				Boot: 14 * time.Second, Rate: 14},
			{ID: 8, Roles: roller.Roles{Controller: true}, Outdated: true, Stop: 6 * time.Second, Boot: 37 * time.Second, Rate: 12},
		}, Policy: limited(1, 1, 0, 60*time.Second)},
		Steps: []simulator.Step{
			{Do: "configure", Node: 8, Arg: 40444},
			{Do: "crash", Node: 4, Arg: 18880},
			{Do: "look", Node: 16, Arg: 46966},
			{Do: "evict", Node: 1, Arg: 20210},
			{Do: "pass", Node: 0, Arg: 4669},
			{Do: "look", Node: 13, Arg: 34424},
			{Do: "pass", Node: 3, Arg: 41569},
			{Do: "configure", Node: 0, Arg: 29122},
			{Do: "look", Node: 6, Arg: 55950},
			{Do: "pass", Node: 9, Arg: 47103},
			{Do: "configure", Node: 1, Arg: 61370},
			{Do: "look", Node: 8, Arg: 35016},
			{Do: "look", Node: 7, Arg: 3422},
			{Do: "look", Node: 11, Arg: 48660, Blind: 0x1a8, Mask: 0x2aad13c5d480b669},
			{Do: "pass", Node: 6, Arg: 33866},
		}}},
	{"the leader of the quorum is deleted where nobody can read it", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 5, Roles: roller.Roles{Controller: true}, Outdated: true, Stop: 2 * time.Second, Boot: 50 * time.Second, Rate: 8},
			{ID: 6, Roles: roller.Roles{Controller: true}, Place: "east", Stop: 6 * time.Second, Boot: 48 * time.Second, Rate: 10},
			{ID: 7, Roles: roller.Roles{Controller: true}, Place: "west", Outdated: true, Stop: 9 * time.Second, Boot: 27 * time.Second, Rate: 10},
			{ID: 8, Roles: roller.Roles{Controller: true}, Outdated: true, Stop: 1 * time.Second, Boot: 18 * time.Second, Rate: 15},
			{ID: 9, Roles: roller.Roles{Controller: true}, Place: "east", Outdated: true, Stop: 6 * time.Second, Boot: 48 * time.Second, Rate: 13},
			{ID: 10, Roles: roller.Roles{Controller: true}, Place: "west", Outdated: true, Stop: 5 * time.Second, Boot: 11 * time.Second, Rate: 17},
			{ID: 11, Roles: roller.Roles{Controller: true}, Outdated: true, Stop: 8 * time.Second, Boot: 48 * time.Second, Rate: 19},
		}, Policy: limited(10, 2, 0, 0)},
		Steps: []simulator.Step{
			{Do: "unread", Node: 10, Arg: 9700},
			{Do: "evict", Node: 6, Arg: 6761},
			{Do: "look", Node: 5, Arg: 37574},
		}}},
	{"a quorum finds a leader and loses it between two looks", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 0, Roles: roller.Roles{Controller: true, Broker: true}, Rack: "r0", Stop: 8 * time.Second, Boot: 4 * time.Second, Rate: 15},
		}, Policy: limited(1, 2, 0, 10*time.Second)},
		Steps: []simulator.Step{
			{Do: "crash", Node: 0, Arg: 45318},
			{Do: "look", Node: 2, Arg: 28878},
			{Do: "pass", Node: 0, Arg: 42593},
			{Do: "wedge", Node: 3, Arg: 12130},
		}}},
	{"a cluster is lost, and nobody tells of a topic that the roller may not describe", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 0, Roles: roller.Roles{Broker: true}, Outdated: true, Stop: 9 * time.Second, Boot: 48 * time.Second, Rate: 15},
			{ID: 1, Roles: roller.Roles{Broker: true}, Place: "east", Outdated: true, Stop: 9 * time.Second, Boot: 19 * time.Second, Rate: 14},
			{ID: 4, Roles: roller.Roles{Broker: true}, Place: "east", Outdated: true, Stop: 6 * time.Second, Boot: 32 * time.Second, Rate: 7},
			{ID: 5, Roles: roller.Roles{Broker: true}, Place: "west", Outdated: true, Stop: 10 * time.Second, Boot: 13 * time.Second, Rate: 19},
			{ID: 6, Roles: roller.Roles{Controller: true}, Outdated: true, Stop: 8 * time.Second, Boot: 44 * time.Second, Rate: 4},
			{ID: 7, Roles: roller.Roles{Controller: true}, Place: "east", Outdated: true, Stop: 2 * time.Second, Boot: 17 * time.Second, Rate: 16},
			{ID: 10, Roles: roller.Roles{Controller: true}, Place: "east", Outdated: true, Stop: 3 * time.Second, Boot: 15 * time.Second, Rate: 3},
		}, Topics: []simulator.Topic{
			{Name: "t0", MinISR: 3, Partitions: [][]roller.NodeID{{1, 4}}},
			{Name: "t1", MinISR: 2, Partitions: [][]roller.NodeID{{0, 1, 4}}},
		}, Policy: limited(1, 1, 0, 0)},
		Steps: []simulator.Step{
			{Do: "cut", Node: 10, Arg: 29971},
			{Do: "delete", Node: 3, Arg: 33034},
			{Do: "cut", Node: 7, Arg: 61615},
			{Do: "create", Node: 4, Arg: 61308},
			{Do: "create", Node: 5, Arg: 42699},
			{Do: "cut", Node: 3, Arg: 24804},
			{Do: "lose", Node: 10, Arg: 52860},
			{Do: "mute", Node: 4, Arg: 24064},
			{Do: "hide", Node: 9, Arg: 13455},
			{Do: "mute", Node: 1, Arg: 22734},
			{Do: "look", Node: 7, Arg: 26525},
			{Do: "cut", Node: 10, Arg: 34094},
			{Do: "pass", Node: 0, Arg: 50192},
			{Do: "look", Node: 2, Arg: 1094},
		}}},
	{"a node on hold was restarted just now, and is still shown as it was before", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 1, Roles: roller.Roles{Broker: true}, Rack: "r1", Place: "east", Outdated: true, Stop: 8 * time.Second,
				Boot: 41 * time.Second, Rate: 1},
			{ID: 4, Roles: roller.Roles{Broker: true}, Rack: "r1", Place: "east", Stop: 7 * time.Second, Boot: 18 * time.Second, Rate: 13},
			{ID: 6, Roles: roller.Roles{Broker: true}, Rack: "r0", Outdated: true, Stop: 10 * time.Second, Boot: 31 * time.Second, Rate: 10},
			{ID: 7, Roles: roller.Roles{Broker: true}, Rack: "r1", Place: "east", Outdated: true, Stop: 5 * time.Second,
				Boot: 52 * time.Second, Rate: 18},
		}, Topics: []simulator.Topic{
			{Name: "t1", MinISR: 2, Partitions: [][]roller.NodeID{{4, 1, 7, 6}}},
		}, Policy: limited(3, 2, 0, 10*time.Second)},
		Steps: []simulator.Step{
			{Do: "abandon", Node: 1, Arg: 15879},
			{Do: "stale", Node: 4, Arg: 12204},
			{Do: "crash", Node: 1, Arg: 51459},
			{Do: "revise", Node: 2, Arg: 43089},
			{Do: "pass", Node: 0, Arg: 49364},
			{Do: "look", Node: 3, Arg: 55281},
		}}},
	{"a value is changed and changed back while a node restarts for it, so that the node takes up what nobody wants", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 0, Roles: roller.Roles{Broker: true}, Rack: "r0", Outdated: true, Stop: 8 * time.Second, Boot: 46 * time.Second, Rate: 3},
			{ID: 2, Roles: roller.Roles{Broker: true}, Rack: "r2", Outdated: true, Stop: 7 * time.Second, Boot: 48 * time.Second, Rate: 17},
			{ID: 6, Roles: roller.Roles{Controller: true}, Outdated: true, Stop: 3 * time.Second, Boot: 46 * time.Second, Rate: 8},
		}, Policy: limited(1, 0, 0.5, 0), Old: true},
		Steps: []simulator.Step{
			{Do: "configure", Node: 2, Arg: 48013},
			{Do: "look", Node: 4, Arg: 15805},
			{Do: "pass", Node: 1, Arg: 27656},
			{Do: "look", Node: 6, Arg: 21598},
			{Do: "configure", Node: 0, Arg: 34649},
			{Do: "pass", Node: 5, Arg: 58476},
			{Do: "configure", Node: 6, Arg: 4378},
		}}},
	{"a value is stored while a controller starts that can't take it up then", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 5, Roles: roller.Roles{Broker: true}, Rack: "r1", Place: "east", Outdated: true, Stop: 6 * time.Second,
				Boot: 18 * time.Second, Rate: 8},
			{ID: 7, Roles: roller.Roles{Controller: true}, Outdated: true, Stop: 6 * time.Second, Boot: 52 * time.Second, Rate: 17},
			{ID: 9, Roles: roller.Roles{Controller: true}, Outdated: true, Stop: 8 * time.Second, Boot: 40 * time.Second, Rate: 5},
			{ID: 11, Roles: roller.Roles{Controller: true}, Outdated: true, Stop: 6 * time.Second, Boot: 25 * time.Second, Rate: 19},
		}, Policy: patient(1)},
		Steps: []simulator.Step{
			{Do: "cut", Node: 5, Arg: 42600},
			{Do: "configure", Node: 7, Arg: 15800},
			{Do: "cut", Node: 1, Arg: 63813},
			{Do: "look", Node: 11, Arg: 49807},
			{Do: "pass", Node: 2, Arg: 21136},
			{Do: "configure", Node: 5, Arg: 34936},
			{Do: "look", Node: 11, Arg: 39215},
			{Do: "pass", Node: 5, Arg: 3597},
		}}},
	{"a broker is back at the moment of its restart, and nobody knows what is in sync", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 3, Roles: roller.Roles{Broker: true}, Rack: "r0", Outdated: true, Stop: 7 * time.Second, Boot: 32 * time.Second, Rate: 6},
			{ID: 5, Roles: roller.Roles{Controller: true}, Outdated: true, Stop: 4 * time.Second, Boot: 44 * time.Second, Rate: 15},
			{ID: 7, Roles: roller.Roles{Controller: true}, Outdated: true, Stop: 10 * time.Second, Boot: 8 * time.Second, Rate: 12},
		}, Policy: limited(10, 2, 0, time.Minute)},
		Steps: []simulator.Step{
			{Do: "evict", Node: 5, Arg: 13199},
			{Do: "pass", Node: 4, Arg: 5569},
			{Do: "look", Node: 2, Arg: 10664},
			{Do: "pass", Node: 6, Arg: 22946},
			{Do: "configure", Node: 3, Arg: 48382},
			{Do: "crash", Node: 3, Arg: 563},
			{Do: "pass", Node: 5, Arg: 18670},
			{Do: "pause", Node: 1, Arg: 7320},
			{Do: "configure", Node: 7, Arg: 51944},
			{Do: "configure", Node: 5, Arg: 62119},
			{Do: "look", Node: 3, Arg: 2242},
			{Do: "pass", Node: 6, Arg: 45759},
			{Do: "pass", Node: 4, Arg: 32836},
			{Do: "cut", Node: 6, Arg: 10286},
			{Do: "pass", Node: 7, Arg: 6941},
			{Do: "pass", Node: 5, Arg: 5968},
			{Do: "pause", Node: 3, Arg: 59277},
			{Do: "look", Node: 0, Arg: 27122, Fault: "slow-look"},
		}}},
	{"evidence that a look recalls goes on, though its cause is another one by then", simulator.History{
		Cluster: simulator.Cluster{Nodes: []simulator.Node{
			{ID: 0, Roles: roller.Roles{Controller: true, Broker: true}, Rack: "r0", Outdated: true, Stop: 9 * time.Second, Boot: 8 * time.Second,
				Rate: 15},
			{ID: 3, Roles: roller.Roles{Controller: true, Broker: true}, Rack: "r1", Outdated: true, Stop: time.Second, Boot: 34 * time.Second,
				Rate: 6},
		}, Policy: limited(3, 2, 0, 0)},
		Steps: []simulator.Step{
			{Do: "refuse", Node: 0, Arg: 64023},
			{Do: "expire", Node: 2, Arg: 57078},
			{Do: "evict", Node: 3, Arg: 34833},
			{Do: "pass", Node: 2, Arg: 25053},
			{Do: "look", Node: 3, Arg: 26064},
			{Do: "refuse", Node: 0, Arg: 4272},
			{Do: "look", Node: 4, Arg: 17167},
			{Do: "expire", Node: 2, Arg: 59650},
		}}},
}

// No known history breaks a rule any more.
func TestKnownHistoriesOfRolls(t *testing.T) {
	for _, c := range known {
		t.Run(c.name, func(t *testing.T) {
			var story strings.Builder
			NewWithT(t).Expect(c.history.Play(&story).Broken).To(BeEmpty(), story.String())
		})
	}
}
