import { MemoryLog } from "@deltawire/agent";
import { emptyTree, type LogEntry, type TaskEvent } from "@deltawire/tasks";
import { expect, test } from "vitest";
import { Journal } from "../src/log/journal.ts";

const createEntry = (number: number, message: string): LogEntry => {
  const event = { type: "task.warning", task_id: "t", code: "c", message } as unknown as TaskEvent;
  const numbered = { ...event, sequence_number: number };
  return { event: numbered, json: JSON.stringify(numbered) };
};

function createJournal() {
  const log = new MemoryLog();
  const published: string[] = [];
  let head = -1;
  const journal = new Journal(
    {
      log,
      rootTaskId: "t",
      getState: () => ({ ...emptyTree, head }),
      onStored: (entries) => published.push(...entries.map(({ json }) => json)),
      onFailed: (error) => {
        throw error;
      },
    },
    -1,
  );
  const write = (newEntry: LogEntry, replacement?: LogEntry): void => {
    head = newEntry.event.sequence_number;
    journal.write(newEntry, replacement);
  };
  const readRows = async () => (await log.read("t", -1, 10)).map(({ json }) => json);
  return { journal, write, published, readRows };
}

test("an entry that is replaced before it is stored is never published", async () => {
  const { journal, write, published, readRows } = createJournal();
  write(createEntry(0, "secret"));
  write(createEntry(1, "rejected"), createEntry(0, "nothing"));
  await journal.whenStored();
  expect(published).toEqual([createEntry(0, "nothing").json, createEntry(1, "rejected").json]);
  expect(await readRows()).toEqual(published);
});

test("a stored entry is replaced together with the storing of the entry that requests it", async () => {
  const { journal, write, published, readRows } = createJournal();
  write(createEntry(0, "secret"));
  await journal.whenStored();
  write(createEntry(1, "rejected"), createEntry(0, "nothing"));
  expect(await readRows()).toEqual([createEntry(0, "secret").json]);
  await journal.whenStored();
  expect(await readRows()).toEqual([
    createEntry(0, "nothing").json,
    createEntry(1, "rejected").json,
  ]);
  expect(published).toEqual([createEntry(0, "secret").json, createEntry(1, "rejected").json]);
});
