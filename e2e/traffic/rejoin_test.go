package traffic

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/twmb/franz-go/pkg/kerr" //nolint:depguard // as in traffic.go
	"github.com/twmb/franz-go/pkg/kgo"  //nolint:depguard // as in traffic.go
)

func TestOnlyALostConnectionIsTheClientsOwnMatter(t *testing.T) {
	refused := fmt.Errorf("unable to dial: %w", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&kgo.ErrGroupSession{Err: refused}, true},
		{refused, false},
		{&kgo.ErrGroupSession{Err: kerr.GroupAuthorizationFailed}, false},
		{&kgo.ErrGroupSession{Err: errors.New("x509: certificate signed by unknown authority")}, false},
	} {
		NewWithT(t).Expect(rejoins(c.err)).To(Equal(c.want), "%v", c.err)
	}
}
