package main

import (
	"context"
	"hash/crc32"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	floorBytes = 2 << 30
	floorPiece = 64 << 10
)

// doFloor: what this machine's kernel and memory ask for a GB, in CPU seconds of all who take part: once over loopback, once
// appended to a file, once checked by CRC-32C; and how long a byte takes there and back between two threads, and a sync.
func doFloor(context.Context) {
	piece := payloads(floorPiece)[0]
	perGB := func(work func()) float64 {
		before := cpu()
		work()
		return r3((cpu() - before) / (float64(floorBytes) / 1e9))
	}
	loopback := perGB(func() {
		a, b := pair()
		go func() {
			for sent := 0; sent < floorBytes; sent += len(piece) {
				_, err := a.Write(piece)
				die(err)
			}
			die(a.Close())
		}()
		_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{b}, make([]byte, 256<<10))
		die(err)
	})
	file, err := os.CreateTemp("", "kbench-floor")
	die(err)
	die(os.Remove(file.Name()))
	appended := perGB(func() {
		for at := int64(0); at < floorBytes; at += floorPiece {
			// One place again and again: what is asked for is the copy, not the disk.
			_, err := file.WriteAt(piece, at%(64<<20))
			die(err)
		}
	})
	table := crc32.MakeTable(crc32.Castagnoli)
	var sum uint32
	checked := perGB(func() {
		for at := 0; at < floorBytes; at += floorPiece {
			sum ^= crc32.Checksum(piece, table)
		}
	})
	var syncs []int64
	for i := int64(0); i < 200; i++ {
		_, err := file.WriteAt(piece[:4096], i*4096)
		die(err)
		began := now()
		die(syscall.Fdatasync(int(file.Fd())))
		syncs = append(syncs, now()-began)
	}
	emit(map[string]any{"loopback_cpu_s_gb": loopback, "append_cpu_s_gb": appended, "crc_cpu_s_gb": checked, "round_trip": pct(roundTrips()), "fdatasync": pct(syncs)})
}

func pair() (net.Conn, net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	die(err)
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	die(err)
	b, err := l.Accept()
	die(err)
	return a, b
}

func roundTrips() []int64 {
	a, b := pair()
	defer a.Close()
	go func() {
		_, _ = io.Copy(b, struct{ io.Reader }{b})
	}()
	byte1 := make([]byte, 1)
	var took []int64
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
		began := now()
		_, err := a.Write(byte1)
		die(err)
		_, err = io.ReadFull(a, byte1)
		die(err)
		took = append(took, now()-began)
	}
	return took
}
