import { createHash } from "node:crypto";
import {
  canonicalJson,
  emptyTree,
  reduce,
  snapshotOf,
  stateHash,
  taskView,
  treeOf,
} from "@deltawire/tasks";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sampleLog } from "./sample-log.ts";

const nodes = (text: string) => createHash("sha256").update(text).digest("hex");
const view = taskView(reduce(emptyTree, sampleLog));

describe("canonical JSON", () => {
  test("keys are sorted at every depth, absent fields are left out, and there are no blanks", () => {
    expect(canonicalJson({ b: [{ d: 1, c: null }], a: "é\n", x: undefined })).toBe(
      '{"a":"é\\n","b":[{"c":null,"d":1}]}',
    );
  });

  test("keys are sorted by their UTF-16 units", () => {
    expect(canonicalJson({ "\u{1f600}": 1, "\uffff": 2, é: 3, Z: 4, a: 5, 10: 6, 9: 7 })).toBe(
      '{"10":6,"9":7,"Z":4,"a":5,"é":3,"\u{1f600}":1,"\uffff":2}',
    );
  });

  test("it reads back as what it was, and does not depend on the order of keys", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(reversed(value))).toBe(text);
      }),
    );
  });
});

describe("the hash of a state", () => {
  test("is the SHA-256 of the canonical JSON of the view", () => {
    expect(stateHash(view)).toBe(nodes(canonicalJson(view)));
  });

  test("is the same with a hash function of the platform", () => {
    expect(stateHash(view, nodes)).toBe(stateHash(view));
  });

  test("does not depend on the order of fields, nor on how the state was come by", () => {
    const read = treeOf(JSON.parse(JSON.stringify(snapshotOf(reduce(emptyTree, sampleLog)))));
    expect(stateHash(taskView(read))).toBe(stateHash(view));
    expect(stateHash(reversed(view))).toBe(stateHash(view));
  });

  test("changes with every event that changes what the public sees", () => {
    const hashes = new Map<string, string>();
    for (let length = 1; length <= sampleLog.length; length += 1) {
      const seen = taskView(reduce(emptyTree, sampleLog.slice(0, length)));
      hashes.set(canonicalJson(seen), stateHash(seen));
    }
    expect(hashes.size).toBeGreaterThan(40);
    expect(new Set(hashes.values()).size).toBe(hashes.size);
  });
});

test("a snapshot carries the hash of the root's view and the number of its last event", () => {
  const snapshot = snapshotOf(reduce(emptyTree, sampleLog), nodes);
  expect(snapshot.state_hash).toBe(stateHash(view));
  expect(snapshot.as_of).toBe(sampleLog.length - 1);
});

test("a snapshot keeps the objects of items that are known already", () => {
  const known = reduce(emptyTree, sampleLog.slice(0, -12));
  const later = JSON.parse(JSON.stringify(snapshotOf(reduce(emptyTree, sampleLog))));
  const tree = treeOf(later, known);
  expect(tree).toEqual(reduce(emptyTree, sampleLog));
  expect(tree.tasks["task_1"]?.output[0]).toBe(known.tasks["task_1"]?.output[0]);
  expect(tree.tasks["call_1"]?.output[1]).toBe(known.tasks["call_1"]?.output[1]);
});

function reversed<T>(value: T): T {
  if (Array.isArray(value)) return value.map((part) => reversed(part)) as T;
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([key, field]) => [key, reversed(field)]);
  return Object.fromEntries(fields.toReversed()) as T;
}
