import { emptyTree, Reducer, type TaskLog, type TaskTree } from "@deltawire/tasks";
import { entryOf, PrivateParts } from "./private-parts.ts";

const pageSize = 5000;

/** What the log of a root task amounts to, and what only a process that goes on with it may know. */
export async function readTask(
  log: TaskLog,
  rootTaskId: string,
): Promise<{ state: TaskTree; privateParts: PrivateParts }> {
  const reducer = new Reducer(emptyTree);
  const privateParts = new PrivateParts();
  for (let after = -1; ;) {
    const rows = await log.read(rootTaskId, after, pageSize);
    for (const row of rows) {
      const entry = entryOf(row);
      privateParts.note(entry);
      reducer.apply(entry.event);
      after = row.sequence_number;
    }
    if (rows.length < pageSize) return { state: reducer.state, privateParts };
  }
}
