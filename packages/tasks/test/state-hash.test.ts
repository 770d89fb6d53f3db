import { createHash } from "node:crypto";
import {
  canonicalJson,
  emptyTree,
  reduce,
  createSnapshot,
  computeStateHash,
  buildTaskView,
  snapshotToTree,
} from "@deltawire/tasks";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sampleLog } from "./sample-log.ts";

const nodeSha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const view = buildTaskView(reduce(emptyTree, sampleLog));

describe("canonical JSON", () => {
  test("has sorted keys at every depth, no undefined fields and no whitespace", () => {
    expect(canonicalJson({ b: [{ d: 1, c: null }], a: "é\n", x: undefined })).toBe(
      '{"a":"é\\n","b":[{"c":null,"d":1}]}',
    );
  });

  test("sorts keys by UTF-16 units", () => {
    expect(canonicalJson({ "\u{1f600}": 1, "\uffff": 2, é: 3, Z: 4, a: 5, 10: 6, 9: 7 })).toBe(
      '{"10":6,"9":7,"Z":4,"a":5,"é":3,"\u{1f600}":1,"\uffff":2}',
    );
  });

  test("parses to the original value, and does not depend on the order of keys", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(reverseKeys(value))).toBe(text);
      }),
    );
  });
});

describe("computeStateHash", () => {
  test("returns the SHA-256 of the canonical JSON of the view", () => {
    expect(computeStateHash(view)).toBe(nodeSha256(canonicalJson(view)));
  });

  test("returns the same hash with a hash function of the platform", () => {
    expect(computeStateHash(view, nodeSha256)).toBe(computeStateHash(view));
  });

  test("does not depend on the order of fields, or on whether the state was restored from a snapshot", () => {
    const restored = snapshotToTree(
      JSON.parse(JSON.stringify(createSnapshot(reduce(emptyTree, sampleLog)))),
    );
    expect(computeStateHash(buildTaskView(restored))).toBe(computeStateHash(view));
    expect(computeStateHash(reverseKeys(view))).toBe(computeStateHash(view));
  });

  test("returns another hash after every event that changes the view", () => {
    const hashes = new Map<string, string>();
    for (let length = 1; length <= sampleLog.length; length += 1) {
      const view = buildTaskView(reduce(emptyTree, sampleLog.slice(0, length)));
      hashes.set(canonicalJson(view), computeStateHash(view));
    }
    expect(hashes.size).toBeGreaterThan(40);
    expect(new Set(hashes.values()).size).toBe(hashes.size);
  });
});

test("a snapshot has the hash of the root's view and the number of its last event", () => {
  const snapshot = createSnapshot(reduce(emptyTree, sampleLog), nodeSha256);
  expect(snapshot.state_hash).toBe(computeStateHash(view));
  expect(snapshot.as_of).toBe(sampleLog.length - 1);
});

test("restoring a snapshot keeps the objects of known items", () => {
  const known = reduce(emptyTree, sampleLog.slice(0, -12));
  const later = JSON.parse(JSON.stringify(createSnapshot(reduce(emptyTree, sampleLog))));
  const tree = snapshotToTree(later, known);
  expect(tree).toEqual(reduce(emptyTree, sampleLog));
  expect(tree.tasks["task_1"]?.output[0]).toBe(known.tasks["task_1"]?.output[0]);
  expect(tree.tasks["call_1"]?.output[1]).toBe(known.tasks["call_1"]?.output[1]);
});

function reverseKeys<T>(value: T): T {
  if (Array.isArray(value)) return value.map((part) => reverseKeys(part)) as T;
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([key, field]) => [key, reverseKeys(field)]);
  return Object.fromEntries(fields.toReversed()) as T;
}
