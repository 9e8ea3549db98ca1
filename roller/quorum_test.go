package roller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// quorumOf returns a quorum with voters 1, 2, 3... that were caught up at these times.
func quorumOf(leader NodeID, caughtUp ...int64) Quorum {
	q := Quorum{Leader: leader}
	for i, at := range caughtUp {
		q.Voters = append(q.Voters, Voter{ID: NodeID(i + 1), LastCaughtUp: at})
	}
	return q
}

// docs/decisions/quorum.md. The first cases are named as in Strimzi's KafkaQuorumCheckTest.
func TestQuorumCheck(t *testing.T) {
	observed := quorumOf(9, 10000, 9900, 9800)
	observed.Observers = []Voter{{ID: 9, LastCaughtUp: 10000}, {ID: 4, LastCaughtUp: 1}}
	twice := quorumOf(1, 10000, 10000, 5000)
	twice.Voters = append(twice.Voters, Voter{ID: 3, Directory: "new", LastCaughtUp: 10000})
	for _, c := range []struct {
		name    string
		q       Quorum
		id      NodeID
		timeout time.Duration
		allowed bool
		warns   bool
	}{
		{"canRollActiveControllerOddSizedCluster", quorumOf(1, 10000, 9500, 9700), 1, 2 * time.Second, true, false},
		{"canRollActiveControllerEvenSizedCluster", quorumOf(1, 10000, 9500, 9700, 9800), 1, 2 * time.Second, true, false},
		{"cannotRollActiveControllerWith1FollowerBehindOddSizedCluster", quorumOf(1, 10000, 7000, 8200), 1, 2 * time.Second, false, false},
		{"cannotRollActiveControllerWith1FollowerBehindEvenSizedCluster", quorumOf(1, 10000, 7000, 8200, 9000), 1, 2 * time.Second, false, false},
		{"canRollControllerWhenItselfIsBehind", quorumOf(1, 10000, 7000, 8200), 2, 2 * time.Second, true, false},
		{"cannotRollControllerWhenAnotherFollowerBehind", quorumOf(1, 10000, 7000, 8200), 3, 2 * time.Second, false, false},
		{"cannotRollControllerWhenTimestampInvalid", quorumOf(1, 10000, -1, -1), 1, 2 * time.Second, false, false},
		{"canRollControllerSingleNodeQuorum", quorumOf(1, 10000), 1, 2 * time.Second, true, true},
		{"canRollController2NodesQuorum", quorumOf(1, 10000, 9500), 1, 2 * time.Second, true, true},
		{"cannotRollController2NodeQuorumFollowerBehind", quorumOf(1, 10000, 7000), 1, 2 * time.Second, false, false},
		{"canRollController2NodesQuorum, the follower that is behind", quorumOf(1, 10000, 7000), 2, 2 * time.Second, true, true},
		{"shouldHandlePartiallyIncompleteQuorumData", quorumOf(1, 10000, -1, 9700), 3, 2 * time.Second, false, false},
		{"shouldHandleNoLeaderQuorumScenario", quorumOf(-1, 10000, 9500, 9700), 1, 2 * time.Second, false, false},
		{"shouldTestDynamicTimeoutValue", quorumOf(1, 10000, 9950), 1, 100 * time.Millisecond, true, true},
		{"a lag of exactly the timeout is behind", quorumOf(1, 10000, 8000, 8000), 1, 2 * time.Second, false, false},
		{"a lag just below the timeout is not", quorumOf(1, 10000, 8001, 8001), 1, 2 * time.Second, true, false},
		{"five voters, one behind", quorumOf(1, 10000, 9900, 9900, 9900, 0), 2, 2 * time.Second, true, false},
		{"five voters, two behind", quorumOf(1, 10000, 9900, 9900, 0, 0), 2, 2 * time.Second, false, false},
		{"six voters, one behind", quorumOf(1, 10000, 9900, 9900, 9900, 9900, 0), 2, 2 * time.Second, true, false},
		{"six voters, two behind", quorumOf(1, 10000, 9900, 9900, 9900, 0, 0), 2, 2 * time.Second, false, false},
		{"seven voters, two behind", quorumOf(1, 10000, 9900, 9900, 9900, 9900, 0, 0), 2, 2 * time.Second, true, false},
		{"seven voters, three behind", quorumOf(1, 10000, 9900, 9900, 9900, 0, 0, 0), 2, 2 * time.Second, false, false},
		{"the leader is no voter, and tells how far it is", observed, 1, 2 * time.Second, true, false},
		{"the leader is no voter, and does not tell", quorumOf(9, 10000, 9900, 9800), 1, 2 * time.Second, false, false},
		{"the leader's own time is not known", quorumOf(1, -1, 9900, 9800), 2, 2 * time.Second, false, false},
		{"a controller that does not vote", quorumOf(1, 10000, 0, 0), 7, 2 * time.Second, true, false},
		{"no voters", Quorum{Leader: 1}, 1, 2 * time.Second, true, false},
		{"one id with two directories is two voters", twice, 2, 2 * time.Second, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			v := checkQuorum(Known(c.q), c.id, c.timeout, nil)
			allowed, warns := v.blocked == "", v.warning != ""
			g.Expect([]bool{allowed, warns}).To(Equal([]bool{c.allowed, c.warns}), v.blocked+v.warning)
		})
	}
}

// cannotRollControllerWhenFailedFuture: an error never allows a restart.
func TestQuorumThatCannotBeReadBlocks(t *testing.T) {
	g := NewWithT(t)
	g.Expect(checkQuorum(Unknown[Quorum]("timed out"), 1, time.Second, nil).blocked).
		To(Equal("the state of the metadata quorum is unknown: timed out"))
}
