import type { TaskEvent, TaskTree } from "@deltawire/tasks";
import type { TaskRecords } from "../task-runtime.ts";

export interface TaskRecovery {
  /** The number of times that the task was resumed after a crash. */
  epoch: number;
  /** Number of the first event since the task was last resumed. */
  recovered_at?: number;
}

const logPageSize = 1000;

/** Finds the first event since a task was last resumed after a crash. Searches the log from its end. */
export async function findRecovery(
  rootTaskId: string,
  { head, tasks }: TaskTree,
  records: Pick<TaskRecords, "read">,
): Promise<TaskRecovery> {
  const epoch = tasks[rootTaskId]?.epoch ?? 0;
  if (epoch === 0) return { epoch };
  for (let end = head; end >= 0; end -= logPageSize) {
    const rows = await records.read(rootTaskId, Math.max(-1, end - logPageSize), logPageSize);
    for (const { json } of rows.toReversed()) {
      if (!json.includes('"task.working"')) continue;
      const event = JSON.parse(json) as TaskEvent;
      if (event.type === "task.working" && event.task_id === rootTaskId && event.epoch === epoch)
        return { epoch, recovered_at: event.sequence_number };
    }
  }
  return { epoch };
}
