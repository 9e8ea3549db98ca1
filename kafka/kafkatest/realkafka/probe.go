package realkafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// The probe implements the part of Kafka's protocol that shows whether a node serves; an open port does not show that.
const (
	keyMetadata    = 3
	keyAPIVersions = 18

	probeTimeout = 2 * time.Second
	maxResponse  = 1 << 20
)

// probeBroker returns the ids of the brokers that the broker reports as unfenced.
func probeBroker(ctx context.Context, addr string) (map[int32]bool, error) {
	// Version 1 with an empty array of topics: no topics.
	body, err := roundTrip(ctx, addr, keyMetadata, 1, []byte{0, 0, 0, 0})
	if err != nil {
		return nil, err
	}
	r := reader{b: body}
	ids := map[int32]bool{}
	for range r.int32() {
		id := r.int32()
		r.string() // host
		r.int32()  // port
		r.string() // rack
		if r.err != nil {
			return nil, r.err
		}
		ids[id] = true
	}
	return ids, r.err
}

// probeController sends ApiVersions, which each listener answers.
func probeController(ctx context.Context, addr string) error {
	body, err := roundTrip(ctx, addr, keyAPIVersions, 0, nil)
	if err != nil {
		return err
	}
	r := reader{b: body}
	if code := r.int16(); code != 0 || r.err != nil {
		return fmt.Errorf("error code %d to ApiVersions", code)
	}
	return nil
}

// roundTrip sends one request and returns the body of its response.
func roundTrip(ctx context.Context, addr string, key, version int16, body []byte) ([]byte, error) {
	dialer := net.Dialer{Timeout: probeTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(probeTimeout)); err != nil {
		return nil, err
	}
	const headerSize = 2 + 2 + 4 + 2
	req := binary.BigEndian.AppendUint32(nil, uint32(headerSize+len(body)))
	req = binary.BigEndian.AppendUint16(req, uint16(key))
	req = binary.BigEndian.AppendUint16(req, uint16(version))
	req = binary.BigEndian.AppendUint32(req, 1)      // correlation id
	req = binary.BigEndian.AppendUint16(req, 0xffff) // no client id
	if _, err := conn.Write(append(req, body...)); err != nil {
		return nil, err
	}
	var prefix [8]byte // size, correlation id
	if _, err := io.ReadFull(conn, prefix[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(prefix[:])
	if size < 4 || size > maxResponse {
		return nil, fmt.Errorf("a response of %d bytes", size)
	}
	response := make([]byte, size-4)
	_, err = io.ReadFull(conn, response)
	return response, err
}

// reader reads the protocol's primitive types and remembers the first error.
type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n int) []byte {
	if r.err == nil && len(r.b) < n {
		r.err = errors.New("a truncated response")
	}
	if r.err != nil {
		return make([]byte, max(n, 0))
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) int16() int16 { return int16(binary.BigEndian.Uint16(r.take(2))) }
func (r *reader) int32() int32 { return int32(binary.BigEndian.Uint32(r.take(4))) }

// string skips a string that may be null.
func (r *reader) string() {
	if n := r.int16(); n > 0 {
		r.take(int(n))
	}
}
