import type { Model } from "../model.ts";
import type { TaskRequest } from "../task-request.ts";
import type { TaskContext, TaskServices, TreeContext } from "../task/context.ts";
import type { ModelRetryPolicy } from "./model-retry.ts";

/** The members of a task that a model round uses. */
export interface RoundContext extends TaskContext {
  readonly tree: RoundTree;
  /** The request of the task. Empty for sub-agents. */
  readonly request: Pick<TaskRequest, "preamble" | "instructions" | "options" | "chat_id">;
  /** True once dropped options were reported. They are the same in every round. */
  hasReportedDroppedOptions: boolean;
}

interface RoundTree extends TreeContext {
  readonly options: ModelServices;
}

export interface ModelServices extends TaskServices {
  /** Returns the model with this name, for agents whose model is a name. */
  readonly getModel: (name: string) => Model;
  readonly modelRetryPolicy: ModelRetryPolicy;
}
