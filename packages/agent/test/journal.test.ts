import { MemoryLog } from "@deltawire/agent";
import { emptyTree, type LogEntry, type TaskEvent } from "@deltawire/tasks";
import { expect, test } from "vitest";
import { Journal } from "../src/log/journal.ts";

const entry = (number: number, message: string): LogEntry => {
  const event = { type: "task.warning", task_id: "t", code: "c", message } as unknown as TaskEvent;
  const numbered = { ...event, sequence_number: number };
  return { event: numbered, json: JSON.stringify(numbered) };
};

function journalOf() {
  const log = new MemoryLog();
  const told: string[] = [];
  let head = -1;
  const journal = new Journal(
    {
      log,
      rootTaskId: "t",
      state: () => ({ ...emptyTree, head }),
      onKept: (entries) => told.push(...entries.map(({ json }) => json)),
      onFailed: (error) => {
        throw error;
      },
    },
    -1,
  );
  const write = (one: LogEntry, instead?: LogEntry): void => {
    head = one.event.sequence_number;
    journal.write(one, instead);
  };
  const rows = async () => (await log.read("t", -1, 10)).map(({ json }) => json);
  return { journal, write, told, rows };
}

test("an entry that is replaced before it is kept is never heard of", async () => {
  const { journal, write, told, rows } = journalOf();
  write(entry(0, "secret"));
  write(entry(1, "refused"), entry(0, "nothing"));
  await journal.settled();
  expect(told).toEqual([entry(0, "nothing").json, entry(1, "refused").json]);
  expect(await rows()).toEqual(told);
});

test("an entry that is kept already is replaced with the one that says so", async () => {
  const { journal, write, told, rows } = journalOf();
  write(entry(0, "secret"));
  await journal.settled();
  write(entry(1, "refused"), entry(0, "nothing"));
  expect(await rows()).toEqual([entry(0, "secret").json]);
  await journal.settled();
  expect(await rows()).toEqual([entry(0, "nothing").json, entry(1, "refused").json]);
  expect(told).toEqual([entry(0, "secret").json, entry(1, "refused").json]);
});
