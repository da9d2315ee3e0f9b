package main

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Target is one of the two clusters.
type Target struct {
	name      string
	addresses []string
	// Ids of the brokers, rising; the first is called 0 in what is compared.
	brokers []int32
	// Address by id.
	at      map[int32]string
	offered map[int16][2]int16
	// Highest version of each API that both clusters and this program speak.
	shared map[int16][2]int16
}

// connect learns of both clusters what the cases go by.
func connect(kafka, millrace []string) ([2]*Target, error) {
	targets := [2]*Target{{name: "kafka", addresses: kafka}, {name: "millrace", addresses: millrace}}
	for _, t := range targets {
		if err := t.learn(); err != nil {
			return targets, fmt.Errorf("%s at %s: %w", t.name, strings.Join(t.addresses, ","), err)
		}
	}
	if k, m := len(targets[0].brokers), len(targets[1].brokers); k != m {
		return targets, fmt.Errorf("%d brokers of kafka and %d of millrace", k, m)
	}
	shared := map[int16][2]int16{}
	for key, k := range targets[0].offered {
		m, ok := targets[1].offered[key]
		ours := kmsg.RequestForKey(key)
		if ok && ours != nil {
			shared[key] = [2]int16{max(k[0], m[0]), min(k[1], m[1], ours.MaxVersion())}
		}
	}
	targets[0].shared, targets[1].shared = shared, shared
	return targets, nil
}

func (t *Target) learn() error {
	c, err := dial(t.addresses[0])
	if err != nil {
		return err
	}
	defer c.Close()
	versions := kmsg.NewPtrApiVersionsRequest()
	versions.SetVersion(3)
	versions.ClientSoftwareName, versions.ClientSoftwareVersion = clientID, "1"
	resp, err := c.call(versions, 10*time.Second)
	if err != nil {
		return err
	}
	t.offered = map[int16][2]int16{}
	for _, k := range resp.(*kmsg.ApiVersionsResponse).ApiKeys {
		t.offered[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
	}
	// All brokers have to be there before anything is compared.
	for end := time.Now().Add(30 * time.Second); ; {
		metadata := kmsg.NewPtrMetadataRequest()
		metadata.SetVersion(8)
		metadata.Topics = []kmsg.MetadataRequestTopic{}
		resp, err := c.call(metadata, 10*time.Second)
		if err != nil {
			return err
		}
		t.brokers, t.at = nil, map[int32]string{}
		for _, b := range resp.(*kmsg.MetadataResponse).Brokers {
			t.brokers = append(t.brokers, b.NodeID)
			t.at[b.NodeID] = fmt.Sprintf("%s:%d", b.Host, b.Port)
		}
		if len(t.brokers) >= len(t.addresses) {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d brokers of %d", len(t.brokers), len(t.addresses))
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := t.awaitCoordinator(c); err != nil {
		return err
	}
	sort.Slice(t.brokers, func(i, j int) bool { return t.brokers[i] < t.brokers[j] })
	return nil
}

// awaitCoordinator waits until there is one for groups: Kafka makes the topic behind it when it is first asked.
func (t *Target) awaitCoordinator(c *Conn) error {
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.SetVersion(7)
		req.Group = clientID
		resp, err := c.call(req, 10*time.Second)
		if err != nil {
			return err
		}
		if resp.(*kmsg.OffsetFetchResponse).ErrorCode == 0 {
			return nil
		}
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.SetVersion(3)
		find.CoordinatorKey = clientID
		found, err := c.call(find, 10*time.Second)
		if err != nil {
			return err
		}
		// With several brokers another one may coordinate this group; being named is then enough.
		if f := found.(*kmsg.FindCoordinatorResponse); len(t.addresses) > 1 && f.ErrorCode == 0 {
			return nil
		}
	}
	return fmt.Errorf("no coordinator")
}

// ordinal is the name of a broker in what is compared: its place among the ids.
func (t *Target) ordinal(id int32) string {
	for i, b := range t.brokers {
		if b == id {
			return fmt.Sprintf("b%d", i)
		}
	}
	return fmt.Sprint(id)
}
