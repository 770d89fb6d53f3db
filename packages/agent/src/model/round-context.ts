import type { Model } from "../model.ts";
import type { TaskRequest } from "../task-request.ts";
import type { TaskContext, TaskServices, TreeContext } from "../task/context.ts";
import type { ModelWaits } from "./model-waits.ts";

/** What a round with the model needs of the task. */
export interface RoundContext extends TaskContext {
  readonly tree: RoundTree;
  /** What the task was asked with. A sub-agent is asked nothing but its words. */
  readonly asked: Pick<TaskRequest, "preamble" | "instructions" | "options" | "chat_id">;
  /** Dropped parameters have been reported: every round has the same. */
  hasToldDropped: boolean;
}

interface RoundTree extends TreeContext {
  readonly options: ModelServices;
}

export interface ModelServices extends TaskServices {
  /** For agents whose model is a name. */
  readonly model: (name: string) => Model;
  readonly modelWaits: ModelWaits;
}
