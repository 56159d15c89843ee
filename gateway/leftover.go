package gateway

import (
	"strconv"
	"strings"
)

// leftovers are the processes of a list of ps (pid, group, command with environment) that carry the mark in a group whose
// leader is gone. What left its group is its own.
func leftovers(list, mark string) (pids []int) {
	type process struct{ pid, group int }
	var marked []process
	there := map[int]bool{}
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		pid, err1 := strconv.Atoi(fields[0])
		group, err2 := strconv.Atoi(fields[1])
		if err1 != nil || err2 != nil {
			continue
		}
		there[pid] = fields[2] != "<defunct>" && !strings.HasSuffix(line, "<defunct>\n")
		for _, word := range fields[3:] {
			if word == markOf(mark) {
				marked = append(marked, process{pid, group})
				break
			}
		}
	}
	for _, p := range marked {
		if p.group > 1 && !there[p.group] {
			pids = append(pids, p.pid)
		}
	}
	return pids
}
