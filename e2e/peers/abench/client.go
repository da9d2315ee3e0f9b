package main

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

func payloads(size int) [][]byte {
	r := rand.New(rand.NewSource(1))
	p := make([][]byte, 1024)
	for i := range p {
		p[i] = make([]byte, size)
		for j := range p[i] {
			p[i][j] = byte('A' + r.Intn(26))
		}
	}
	return p
}

func dial(i int) (*amqp.Connection, error) {
	u := strings.Split(*urls, ",")
	var err error
	for k := range u {
		var c *amqp.Connection
		c, err = amqp.DialConfig(u[(i+k)%len(u)], amqp.Config{Heartbeat: 10 * time.Second, Dial: amqp.DefaultDial(2 * time.Second), FrameSize: 131072})
		if err == nil {
			return c, nil
		}
	}
	return nil, err
}

func chanOn(i int) (*amqp.Connection, *amqp.Channel) {
	c, err := dial(i)
	die(err)
	ch, err := c.Channel()
	die(err)
	return c, ch
}

func qn(i int) string {
	if *queues == 1 {
		return *queue
	}
	return fmt.Sprintf("%s-%d", *queue, i)
}

func declare(ch *amqp.Channel, name string) error {
	_, err := ch.QueueDeclare(name, true, false, false, false, amqp.Table{"x-queue-type": *qtype})
	return err
}

func setup(fresh bool) {
	u := *declareURL
	if u == "" {
		u = strings.Split(*urls, ",")[0]
	}
	c, err := amqp.Dial(u)
	die(err)
	defer c.Close()
	ch, err := c.Channel()
	die(err)
	for i := 0; i < *queues; i++ {
		if fresh {
			if _, err := ch.QueueDelete(qn(i), false, false, false); err != nil {
				ch, err = c.Channel()
				die(err)
			}
		}
		die(declare(ch, qn(i)))
	}
}

func teardown() {
	if *keep {
		return
	}
	c, ch := chanOn(0)
	defer c.Close()
	for i := 0; i < *queues; i++ {
		ch.QueueDelete(qn(i), false, false, false)
	}
}

func msg(b []byte) amqp.Publishing {
	d := amqp.Persistent
	if *transient {
		d = amqp.Transient
	}
	return amqp.Publishing{DeliveryMode: d, Body: b}
}

func depth(i int) int64 {
	c, ch := chanOn(i)
	defer c.Close()
	q, err := ch.QueueDeclarePassive(qn(i), true, false, false, false, nil)
	die(err)
	return int64(q.Messages)
}

func doWait(ctx context.Context) {
	start := now()
	for {
		err := func() error {
			c, err := amqp.DialConfig(strings.Split(*urls, ",")[0], amqp.Config{Dial: amqp.DefaultDial(time.Second)})
			if err != nil {
				return err
			}
			defer c.Close()
			ch, err := c.Channel()
			if err != nil {
				return err
			}
			if err := declare(ch, "abench-ready-"+*qtype); err != nil {
				return err
			}
			if err := ch.Confirm(false); err != nil {
				return err
			}
			d, err := ch.PublishWithDeferredConfirmWithContext(ctx, "", "abench-ready-"+*qtype, false, false, msg([]byte("x")))
			if err != nil {
				return err
			}
			wc, cn := context.WithTimeout(ctx, 3*time.Second)
			defer cn()
			if ok, err := d.WaitContext(wc); err != nil || !ok {
				return fmt.Errorf("no confirm: %v", err)
			}
			for {
				if _, ok, err := ch.Get("abench-ready-"+*qtype, true); err != nil {
					return err
				} else if ok {
					return nil
				}
			}
		}()
		if err == nil {
			break
		}
		if time.Duration(now()-start) > *timeout {
			die(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	emit(map[string]any{"ready_s": r3(float64(now()-start) / 1e9)})
}
