//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// client is one connection with at most one request under way.
type client struct {
	fd     int
	n      int // requests sent
	sent   time.Time
	answer []byte // what has come of it
}

// drive lets clients send one request after the other, each over its own
// connection, for a while, and returns what they saw. It polls them all from
// one thread: the processors are those of whom it measures, and a goroutine a
// client costs as much as a third of the answer.
func drive(ctx context.Context, addr string, clients int, span time.Duration, next requester) (load, error) {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return load{}, err
	}
	defer unix.Close(poll)
	all := make([]client, clients)
	for i := range all {
		if all[i].fd, err = connect(addr); err != nil {
			return load{}, err
		}
		defer unix.Close(all[i].fd)
		event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)} // our own number, handed back
		if err := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, all[i].fd, &event); err != nil {
			return load{}, err
		}
	}
	l := load{answers: map[int]int{}}
	begun := time.Now()
	for i := range all {
		if err := all[i].ask(next(i, 0)); err != nil {
			return l, err
		}
	}
	if err := l.collect(ctx, poll, all, begun.Add(span), next); err != nil {
		return l, err
	}
	l.took = time.Since(begun)
	slices.Sort(l.waits)
	for status, n := range l.answers {
		if status >= 500 {
			return l, fmt.Errorf("%d answers said %d", n, status)
		}
	}
	return l, nil
}

// collect reads answers and sends what follows until end, and then reads those
// that are still under way.
func (l *load) collect(ctx context.Context, poll int, all []client, end time.Time, next requester) error {
	events := make([]unix.EpollEvent, len(all))
	for under := len(all); under > 0; {
		n, err := unix.EpollWait(poll, events, 1000)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, e := range events[:max(n, 0)] {
			c := &all[e.Fd]
			status, err := c.read()
			if err != nil {
				return err
			}
			if status == 0 {
				continue
			}
			now := time.Now()
			l.waits = append(l.waits, now.Sub(c.sent))
			l.answers[status]++
			if !now.Before(end) {
				under--
				continue
			}
			if err := c.ask(next(int(e.Fd), c.n)); err != nil {
				return err
			}
		}
	}
	return nil
}

func connect(addr string) (fd int, err error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return 0, err
	}
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.Connect(fd, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}))
	if err != nil {
		unix.Close(fd)
	}
	return fd, err
}

// ask sends a request; it is far smaller than what a socket takes at once.
func (c *client) ask(request []byte) error {
	c.answer, c.sent = c.answer[:0], time.Now()
	c.n++
	n, err := unix.Write(c.fd, request)
	if err == nil && n < len(request) {
		err = io.ErrShortWrite
	}
	return err
}

// read takes what has come; status is 0 until the answer is whole.
func (c *client) read() (status int, err error) {
	c.answer = slices.Grow(c.answer, 4096)
	n, err := unix.Read(c.fd, c.answer[len(c.answer):cap(c.answer)])
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fmt.Errorf("the connection was closed behind %q", c.answer)
	}
	c.answer = c.answer[:len(c.answer)+n]
	return whole(c.answer)
}

var endOfHeaders, lengthHeader = []byte("\r\n\r\n"), []byte("\r\nContent-Length: ")

// whole returns the status of an answer that is all there, else 0. Without a
// Content-Length it has no body.
func whole(answer []byte) (status int, err error) {
	head := bytes.Index(answer, endOfHeaders)
	if head < 0 {
		return 0, nil
	}
	length := 0
	if i := bytes.Index(answer[:head], lengthHeader); i >= 0 {
		value, _, _ := bytes.Cut(answer[i+len(lengthHeader):], []byte("\r"))
		if length, err = strconv.Atoi(string(value)); err != nil {
			return 0, err
		}
	}
	if len(answer) < head+len(endOfHeaders)+length {
		return 0, nil
	}
	if len(answer) < 12 {
		return 0, fmt.Errorf("no HTTP answer: %q", answer)
	}
	return strconv.Atoi(string(answer[9:12]))
}

// call sends one request over a connection of its own and returns the answer's
// status.
func call(addr string, request []byte) (int, error) {
	status, _, err := fetch(addr, request)
	return status, err
}

// fetch is call that returns the answer's body, too.
func fetch(addr string, request []byte) (status int, body []byte, err error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, nil, err
	}
	defer c.Close()
	if _, err := c.Write(request); err != nil {
		return 0, nil, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}
