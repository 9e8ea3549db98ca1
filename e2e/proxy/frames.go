package proxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strconv"
)

const (
	// largest is the maximum size of a frame in bytes.
	largest = 100 << 20
	// headerBeginning is the size of a request's API key, version and correlation id, in bytes.
	headerBeginning = 8
)

// read reads one frame without its size.
func read(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > largest {
		return nil, io.ErrUnexpectedEOF
	}
	frame := make([]byte, n)
	_, err := io.ReadFull(r, frame)
	return frame, err
}

// write writes one frame with its size first.
func write(w io.Writer, frame []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)) // bounded by largest
	return err
}

// readdress replaces a broker's address in a response by a proxy's, so that a client does not bypass the proxy. Both are host:port and must
// have the same length.
func readdress(answer []byte, broker, proxy string) []byte {
	return bytes.ReplaceAll(answer, address(broker), address(proxy))
}

// address encodes an address as Kafka's responses do: the host, and the port in four bytes.
func address(hostPort string) []byte {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		panic(err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		panic(err)
	}
	return binary.BigEndian.AppendUint32([]byte(host), uint32(number))
}
