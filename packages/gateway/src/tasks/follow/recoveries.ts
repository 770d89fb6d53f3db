import type { TaskEvent, TaskTree } from "@deltawire/tasks";
import type { TaskRecords } from "../task-runtime.ts";

export interface Recovery {
  epoch: number;
  recovered_at?: number;
}

const rowsAtOnce = 1000;

/** The first number that was written since a task was last taken up after a crash. It is looked for from the end. */
export async function recoveryOf(
  rootTaskId: string,
  { head, tasks }: TaskTree,
  records: Pick<TaskRecords, "read">,
): Promise<Recovery> {
  const epoch = tasks[rootTaskId]?.epoch ?? 0;
  if (epoch === 0) return { epoch };
  for (let end = head; end >= 0; end -= rowsAtOnce) {
    const rows = await records.read(rootTaskId, Math.max(-1, end - rowsAtOnce), rowsAtOnce);
    for (const { json } of rows.toReversed()) {
      if (!json.includes('"task.working"')) continue;
      const event = JSON.parse(json) as TaskEvent;
      if (event.type === "task.working" && event.task_id === rootTaskId && event.epoch === epoch)
        return { epoch, recovered_at: event.sequence_number };
    }
  }
  return { epoch };
}
