package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// componentMeshes writes folders of the layout of kicad-packages3d: of two classes meshes that lie flat or
// stand, with two materials, and a folder of no class.
func componentMeshes(t *testing.T) string {
	t.Helper()
	from := t.TempDir()
	for class, height := range map[string]int{"Crystal": 0, "Varistor": 9, "Unknown": 3} {
		folder := filepath.Join(from, class+".3dshapes")
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			text := "#VRML V2.0 utf8\n"
			for j, material := range []string{"PIN-01", "PLASTIC-BLUE-01"} {
				text += fmt.Sprintf("Shape { appearance Appearance { material DEF %s Material { diffuseColor 0.%d 0 1 } }\n"+
					"geometry IndexedFaceSet { coord Coordinate { point [%d 0 0, %d 4 %d, 0 %d 1] } coordIndex [0 1 2] } }\n", material, j+1, i+1, j, height, i+j)
			}
			writeText(t, filepath.Join(folder, fmt.Sprintf("%c%c_1x%02d.wrl", 'a'+i%10, 'a'+i/10, i)), text)
		}
	}
	return from
}

// rowsOfSplits are the rows of a data set's splits, as data head prints them.
func rowsOfSplits(t *testing.T, data string) (rows string) {
	t.Helper()
	for _, split := range []string{"train", "val", "test"} {
		rows += split + "\n" + succeed(t, "", "data", "head", filepath.Join(data, split+".arrow"), "--rows", "100")
	}
	return rows
}

// TestComponents: meshes become the rows that data convert cloud makes of them with the flags of the
// measurement, with at most eight of a series for training, the presets train on them, and eval reports the
// 41 classes.
func TestComponents(t *testing.T) {
	testenv.NoRace(t, "goes the ways of TestClouds, TestConvertCloud and TestGraphs")
	from, dir := componentMeshes(t), t.TempDir()
	data, cloud := filepath.Join(dir, "components"), filepath.Join(dir, "cloud")
	mesh, err := os.ReadFile(filepath.Join(from, "Varistor.3dshapes", "aa_1x00.wrl"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		writeText(t, filepath.Join(from, "Varistor.3dshapes", fmt.Sprintf("long_%d.wrl", i)), string(mesh))
	}
	status, said, errs := program(nil, "data", "convert", "components", "--from", from, "--to", data, "--points", "24", "--seed", "1")
	if status != 0 || !strings.Contains(said, "baselines of test: ") || !strings.Contains(errs, "left out, no classes of components: Unknown.3dshapes\n") ||
		strings.Contains(errs, "Button_Switch_SMD") { // a class that nothing is of is not said to be absent from a split
		t.Fatalf("status %d\n%s%s", status, said, errs)
	}
	if err := os.RemoveAll(filepath.Join(from, "Unknown.3dshapes")); err != nil {
		t.Fatal(err)
	}
	done(t, "", "data", "convert", "cloud", "--from", from, "--to", cloud, "--points", "24", "--by-series", "--series-files", "8", "--size", "--color", "--period", "--aligned", "--spacing", "--seed", "1", "--no-baselines")
	rows := rowsOfSplits(t, data)
	if rows != rowsOfSplits(t, cloud) || !strings.Contains(rows, `"label":"Varistor.3dshapes"`) || strings.Count(rows, "/long_") != 8 {
		t.Errorf("other rows than of data convert cloud: %.300s", rows)
	}
	for _, preset := range []string{"quick", "hour"} {
		model := filepath.Join(dir, preset)
		trainPublished(t, "components", data, model, "--preset", preset)
		var result evalResult
		_, said, errs := program(nil, "eval", "--model", model, "--data", data, "--device", "cpu", "--json")
		if err := json.Unmarshal([]byte(said), &result); err != nil || len(result.Classes) != 41 || result.Baseline == nil ||
			result.Models != map[string]int{"quick": 0, "hour": 2}[preset] {
			t.Errorf("%s: %s%s, %v", preset, said, errs, err)
		}
	}
	refuse(t, exitError, "expected data of the task components, classification with", "", "train", "components", "--data", modelNetData(t), "--out", filepath.Join(dir, "run"))
	refuse(t, exitUsage, "sftseq data convert components --from kicad/usr/share/kicad/3dmodels --to data/components", "", "train", "components")
	above := filepath.Join(dir, "above")
	if err := os.Rename(from, filepath.Join(dir, "3dmodels")); err != nil {
		t.Fatal(err)
	}
	refuse(t, exitError, "expected kicad-packages3d's folder usr/share/kicad/3dmodels, with folders such as Button_Switch_SMD.3dshapes, found meshes in 3dmodels", "", "data", "convert", "components", "--from", dir, "--to", above)
	refuse(t, exitError, "Varistor.3dshapes: expected kicad-packages3d's folder usr/share/kicad/3dmodels, with folders such as Button_Switch_SMD.3dshapes, found no folders with meshes", "",
		"data", "convert", "components", "--from", filepath.Join(dir, "3dmodels", "Varistor.3dshapes"), "--to", above)
	if _, err := os.Stat(above); err == nil {
		t.Error("a data set is there")
	}
}

// modelNetData is a data set of another task's clouds.
func modelNetData(t *testing.T) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	done(t, "", "data", "convert", "modelnet40", "--from", modelNet40(t), "--to", data, "--points", "8", "--no-baselines")
	return data
}

// TestComponentParts: points have the part that the material of their face is called, of the task's 350,
// and the kept model is the best by instance IoU.
func TestComponentParts(t *testing.T) {
	testenv.NoRace(t, "goes the ways of TestClouds, TestConvertCloud and TestGraphs")
	from, dir := componentMeshes(t), t.TempDir()
	data, cloud := filepath.Join(dir, "component-parts"), filepath.Join(dir, "cloud")
	status, said, errs := program(nil, "data", "convert", "component-parts", "--from", from, "--to", data, "--points", "24", "--seed", "1")
	if status != 0 || !strings.Contains(errs, "30 of 90 rows left out: no part of the task") ||
		!strings.Contains(errs, "Unknown.3dshapes/PIN\", expected a class of the task, such as that of Battery.3dshapes/IC-BODY-EPOXY\n") {
		t.Fatalf("status %d\n%s%s", status, said, errs)
	}
	if err := os.RemoveAll(filepath.Join(from, "Unknown.3dshapes")); err != nil {
		t.Fatal(err)
	}
	done(t, "", "data", "convert", "cloud", "--from", from, "--to", cloud, "--points", "24", "--by-series", "--parts", "--seed", "1", "--no-baselines")
	if rows := rowsOfSplits(t, data); rows != rowsOfSplits(t, cloud) || !strings.Contains(rows, `"Varistor.3dshapes/PLASTIC-BLUE"`) || !strings.Contains(rows, `"Crystal.3dshapes/PIN"`) {
		t.Errorf("other rows than of data convert cloud: %.300s", rows)
	}
	d, err := seq.OpenDataset(data)
	if err != nil || len(d.Manifest.LabelNames) != 350 {
		t.Fatalf("%d labels, %v", len(d.Manifest.LabelNames), err)
	}
	for _, preset := range []string{"quick", "hour"} {
		model := filepath.Join(dir, preset)
		if said := trainPublished(t, "component-parts", data, model, "--preset", preset); !strings.Contains(said, "selected by iou") {
			t.Error(said)
		}
		var result tagsResult
		if err := json.Unmarshal([]byte(succeed(t, "", "eval", "--model", model, "--data", data, "--device", "cpu", "--json")), &result); err != nil || result.Parts == nil || result.Parts.Shapes == 0 {
			t.Errorf("%+v, %v", result, err)
		}
	}
}
