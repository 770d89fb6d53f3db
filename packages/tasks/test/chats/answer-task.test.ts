import { emptyTree, hasEnded, reduce, taskView, type TaskTree } from "@deltawire/tasks";
import {
  answerError,
  answerStatus,
  answerTask,
  answerTree,
  callRecords,
  chainStats,
  chainWarnings,
  chatsFromJson,
  chatToJson,
  type AnswerVersion,
} from "@deltawire/tasks/chats";
import fc from "fast-check";
import { expect, test } from "vitest";
import { patience, runs } from "../../../../test/runs.ts";
import { randomRun } from "../random-run.ts";
import { answer, call, childTask, sampleWorld } from "./in-out/sample-chat.ts";
import { WrittenChat } from "./written-chat.ts";

const anywhere = fc.nat({ max: 0xffff });

test(
  "what a chat stores of a task has all that is shown of it, wherever the task is",
  patience,
  () => {
    fc.assert(
      fc.property(randomRun, anywhere, ({ events }, at) => {
        const tree = reduce(emptyTree, events.slice(0, 1 + (at % events.length)));
        const stored = answerTree(storedVersion(tree));
        const [{ output, references }, followed] = [taskView(stored), taskView(tree)];
        expect({ output, references }).toEqual({
          output: followed.output,
          references: followed.references,
        });
        expect(callRecords(stored)).toEqual(callRecords(tree));
        expect(chainStats(stored)).toEqual(chainStats(tree));
        expect(chainWarnings(stored)).toEqual(chainWarnings(tree));
        expect(answerStatus(rootOf(stored).status)).toBe(answerStatus(rootOf(tree).status));
      }),
      runs(100),
    );
  },
);

test("whatever a task has come to can be exported, and comes in again", patience, () => {
  fc.assert(
    fc.property(randomRun, anywhere, ({ events }, at) => {
      const version = storedVersion(reduce(emptyTree, events.slice(0, 1 + (at % events.length))));
      const { version_id: _id, created_at: _at, ...given } = version;
      const written = new WrittenChat({}, sampleWorld());
      const node = written.answer(written.user(null), "", { ...answer([]), ...given });
      const exported_at = "2026-03-02T00:00:00.000Z";
      const file = chatToJson({
        chat: written.chat,
        replays: {},
        blobs: () => undefined,
        exported_at,
      });
      const imported = chatsFromJson(JSON.parse(JSON.stringify(file)), sampleWorld("new"));
      if (!imported.ok) throw new Error(imported.problems.join("\n"));
      const { chat } = imported.chats[0] ?? {};
      const found = chat?.nodes[node];
      const [again] = found?.kind === "answer" ? found.versions : [];
      if (again === undefined) throw new Error("the answer is gone");
      const isOver = version.status !== "running";
      expect(again).toMatchObject(isOver ? given : { status: "aborted" });
      // What ran is stopped, with all below it.
      expect(Object.values(answerTree(again).tasks).every(({ status }) => hasEnded(status))).toBe(
        true,
      );
    }),
    runs(50),
  );
});

test("calls that share a sub-agent, level after level, are not read again for each of them", () => {
  const calls = (id: string) =>
    Array.from({ length: 10 }, () => call("agent", "{}", "", id)).flat();
  const childTasks = Array.from({ length: 12 }, (_, at) => {
    const { info, ...task } = childTask(`call_${at}`, `call_${at + 1}`, calls(`call_${at + 2}`));
    return [task.task_id, { ...task, info: { ...info, depth: at + 1 } }] as const;
  });
  const version: AnswerVersion = {
    ...answer(calls("call_1")),
    version_id: "version_1",
    created_at: "2026-01-01T00:00:00.000Z",
    task_id: "call_0",
    child_tasks: Object.fromEntries(childTasks),
  };
  const tree = answerTree(version);
  expect(callRecords(tree)).toHaveLength(10);
  expect(taskView(tree).output).toEqual(version.output);
});

test("sub-agents below sub-agents are read as deep as they may be, and no deeper", () => {
  const childTasks = Array.from({ length: 5000 }, (_, at) => {
    const { info, ...task } = childTask(
      `call_${at}`,
      `call_${at + 1}`,
      call("agent", "{}", "", `call_${at + 2}`),
    );
    return [task.task_id, { ...task, info: { ...info, depth: at + 1 } }] as const;
  });
  const tree = answerTree({
    ...answer(call("agent", "{}", "", "call_1")),
    version_id: "version_1",
    created_at: "2026-01-01T00:00:00.000Z",
    task_id: "call_0",
    child_tasks: Object.fromEntries(childTasks),
  });
  expect(callRecords(tree)).toHaveLength(101);
  expect(taskView(tree).output).toHaveLength(2);
});

/** As it comes back from the store. */
function storedVersion(tree: TaskTree): AnswerVersion {
  const { status } = rootOf(tree);
  const error = answerError(tree);
  const version: AnswerVersion = {
    version_id: "version_1",
    created_at: "2026-01-01T00:00:00.000Z",
    by: "model",
    model_type: "chat",
    task_id: tree.root_task_id,
    notices: [],
    ...answerTask(tree),
    status: answerStatus(status),
    ...(error === undefined ? {} : { error }),
  };
  return JSON.parse(JSON.stringify(version)) as AnswerVersion;
}

function rootOf(tree: TaskTree) {
  const root = tree.tasks[tree.root_task_id];
  if (root === undefined) throw new Error("no root");
  return root;
}
