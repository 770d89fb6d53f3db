import { emptyTree, hasEnded, reduce, buildTaskView, type TaskTree } from "@deltawire/tasks";
import {
  toAnswerError,
  toAnswerStatus,
  toAnswerTask,
  toAnswerTree,
  buildCallRecords,
  computeChainStats,
  mergeWarnings,
  chatsFromJson,
  chatToJson,
  type AnswerVersion,
} from "@deltawire/tasks/chats";
import fc from "fast-check";
import { expect, test } from "vitest";
import { longTimeout, propertyRuns } from "../../../../test/property-runs.ts";
import { randomRun } from "../random-run.ts";
import {
  answer,
  call,
  createChildTask,
  createSampleEnvironment,
} from "./import-export/sample-chat.ts";
import { ChatBuilder } from "./chat-builder.ts";

const anyIndex = fc.nat({ max: 0xffff });

test(
  "an answer stores all that the page shows of its task, at any point of the task",
  longTimeout,
  () => {
    fc.assert(
      fc.property(randomRun, anyIndex, ({ events }, index) => {
        const tree = reduce(emptyTree, events.slice(0, 1 + (index % events.length)));
        const stored = toAnswerTree(createStoredVersion(tree));
        const [{ output, references }, expected] = [buildTaskView(stored), buildTaskView(tree)];
        expect({ output, references }).toEqual({
          output: expected.output,
          references: expected.references,
        });
        expect(buildCallRecords(stored)).toEqual(buildCallRecords(tree));
        expect(computeChainStats(stored)).toEqual(computeChainStats(tree));
        expect(mergeWarnings(stored)).toEqual(mergeWarnings(tree));
        expect(toAnswerStatus(getRoot(stored).status)).toBe(toAnswerStatus(getRoot(tree).status));
      }),
      propertyRuns(100),
    );
  },
);

test("an answer can be exported and imported at any point of its task", longTimeout, () => {
  fc.assert(
    fc.property(randomRun, anyIndex, ({ events }, index) => {
      const version = createStoredVersion(
        reduce(emptyTree, events.slice(0, 1 + (index % events.length))),
      );
      const { version_id: _id, created_at: _at, ...fields } = version;
      const builder = new ChatBuilder({}, createSampleEnvironment());
      const node = builder.addAnswer(builder.addMessage(null), "", { ...answer([]), ...fields });
      const exported_at = "2026-03-02T00:00:00.000Z";
      const file = chatToJson({
        chat: builder.chat,
        replays: {},
        blobs: () => undefined,
        exported_at,
      });
      const imported = chatsFromJson(
        JSON.parse(JSON.stringify(file)),
        createSampleEnvironment("new"),
      );
      if (!imported.ok) throw new Error(imported.problems.join("\n"));
      const { chat } = imported.chats[0] ?? {};
      const importedNode = chat?.nodes[node];
      const [importedVersion] = importedNode?.kind === "answer" ? importedNode.versions : [];
      if (importedVersion === undefined) throw new Error("the answer is missing");
      const hasAnswerEnded = version.status !== "running";
      expect(importedVersion).toMatchObject(hasAnswerEnded ? fields : { status: "aborted" });
      // Running tasks are stopped at every level.
      expect(
        Object.values(toAnswerTree(importedVersion).tasks).every(({ status }) => hasEnded(status)),
      ).toBe(true);
    }),
    propertyRuns(50),
  );
});

test("calls that share their sub-agent on every level do not take exponential time", () => {
  const calls = (id: string) =>
    Array.from({ length: 10 }, () => call("agent", "{}", "", id)).flat();
  const childTasks = Array.from({ length: 12 }, (_, index) => {
    const { info, ...task } = createChildTask(
      `call_${index}`,
      `call_${index + 1}`,
      calls(`call_${index + 2}`),
    );
    return [task.task_id, { ...task, info: { ...info, depth: index + 1 } }] as const;
  });
  const version: AnswerVersion = {
    ...answer(calls("call_1")),
    version_id: "version_1",
    created_at: "2026-01-01T00:00:00.000Z",
    task_id: "call_0",
    child_tasks: Object.fromEntries(childTasks),
  };
  const tree = toAnswerTree(version);
  expect(buildCallRecords(tree)).toHaveLength(10);
  expect(buildTaskView(tree).output).toEqual(version.output);
});

test("sub-agents are read up to a depth of 100", () => {
  const childTasks = Array.from({ length: 5000 }, (_, index) => {
    const { info, ...task } = createChildTask(
      `call_${index}`,
      `call_${index + 1}`,
      call("agent", "{}", "", `call_${index + 2}`),
    );
    return [task.task_id, { ...task, info: { ...info, depth: index + 1 } }] as const;
  });
  const tree = toAnswerTree({
    ...answer(call("agent", "{}", "", "call_1")),
    version_id: "version_1",
    created_at: "2026-01-01T00:00:00.000Z",
    task_id: "call_0",
    child_tasks: Object.fromEntries(childTasks),
  });
  expect(buildCallRecords(tree)).toHaveLength(101);
  expect(buildTaskView(tree).output).toHaveLength(2);
});

/** Returns the answer of a task after a round trip through JSON, as in the store. */
function createStoredVersion(tree: TaskTree): AnswerVersion {
  const { status } = getRoot(tree);
  const error = toAnswerError(tree);
  const version: AnswerVersion = {
    version_id: "version_1",
    created_at: "2026-01-01T00:00:00.000Z",
    by: "model",
    model_type: "chat",
    task_id: tree.root_task_id,
    notices: [],
    ...toAnswerTask(tree),
    status: toAnswerStatus(status),
    ...(error === undefined ? {} : { error }),
  };
  return JSON.parse(JSON.stringify(version)) as AnswerVersion;
}

function getRoot(tree: TaskTree) {
  const root = tree.tasks[tree.root_task_id];
  if (root === undefined) throw new Error("no root");
  return root;
}
