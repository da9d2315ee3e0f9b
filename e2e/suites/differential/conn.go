package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const clientID = "differential"

// How a request can end when it is not answered.
var (
	errClosed = errors.New("closed")
	errSilent = errors.New("silent")
)

// A Conn is one connection that has at most one request under way.
type Conn struct {
	net.Conn
	correlation int32
}

func dial(address string) (*Conn, error) {
	c, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: c}, nil
}

func (c *Conn) send(req kmsg.Request) error {
	c.correlation++
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(nil, req, c.correlation)
	_, err := c.Write(frame)
	return err
}

// receive reads the next frame; errClosed and errSilent say that none came.
func (c *Conn) receive(within time.Duration) ([]byte, error) {
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		return nil, err
	}
	var length [4]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, errSilent
		}
		return nil, errClosed
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > 64<<20 {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	frame := make([]byte, n)
	if _, err := io.ReadFull(c, frame); err != nil {
		return nil, errClosed
	}
	return frame, nil
}

// decode reads the answer to req from a frame.
func decode(frame []byte, req kmsg.Request) (kmsg.Response, error) {
	resp := req.ResponseKind()
	if len(frame) < 4 {
		return nil, errors.New("an answer without a header")
	}
	body := frame[4:]
	// ApiVersions alone is answered without tags, so that clients can read it before they know the version.
	if resp.IsFlexible() && resp.Key() != 18 {
		if len(body) == 0 || body[0] != 0 {
			return nil, errors.New("tags in an answer's header")
		}
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("undecodable: %w", err)
	}
	return resp, nil
}

// call sends one request on a connection and reads its answer.
func (c *Conn) call(req kmsg.Request, within time.Duration) (kmsg.Response, error) {
	if err := c.send(req); err != nil {
		return nil, errClosed
	}
	frame, err := c.receive(within)
	if err != nil {
		return nil, err
	}
	return decode(frame, req)
}
