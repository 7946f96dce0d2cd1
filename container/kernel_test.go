package container

import (
	"os"
	"strings"
	"testing"
)

func TestCheckRelease(t *testing.T) {
	for release, ok := range map[string]bool{
		"6.18.44-fc-v595": true, "5.14.0-427.el9.x86_64": true, "5.14": true, "5.13.19": false, "5.4.0-150-generic": false,
		"4.18.0-553.el8": false, "10.0": true, "7.0-rc1": true, "5.14-rc3": true, "strange": true,
	} {
		if err := checkRelease(release); (err == nil) != ok {
			t.Errorf("%s: %v", release, err)
		}
	}
}

func TestKernelDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/kernel.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range KernelNeeds {
		row := "| " + n.Feature + " | " + n.Since + " | " + n.Instead + " |\n"
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/kernel.md lacks the row %q", row)
		}
	}
	if rows := strings.Count(string(text), "\n| ") - 1; rows != len(KernelNeeds) {
		t.Errorf("docs/kernel.md has %d rows, the table %d", rows, len(KernelNeeds))
	}
}
