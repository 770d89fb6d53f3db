export { defineAgent, usualLimits, type Agent, type AgentDefinition } from "./agent.ts";
export { defineTool } from "./define-tool.ts";
export type {
  CallPolicy,
  ResultPolicy,
  Tool,
  ToolContext,
  ToolDefinition,
  ToolGroup,
} from "./tool.ts";
export type { Checked, InputSchema, StandardSchema } from "./schemas/input-schema.ts";
export { runTask, type RunningTask, type RunTaskOptions } from "./run-task.ts";
export { Runtime, type Listener, type RuntimeOptions } from "./runtime.ts";
export type { AgentRequest, TaskRequest } from "./task-request.ts";
export { RuntimeError, type RuntimeErrorCode } from "./runtime-error.ts";
export type { Decided } from "./approvals/decisions.ts";
export type { Price } from "./run/usage.ts";
export type { ModelWaits } from "./model/model-waits.ts";
export { ModelError, type Model, type RoundNotes } from "./model.ts";
export { MemoryLog } from "./log/memory-log.ts";
export { MemoryBlobs } from "./log/blobs.ts";
export { callOutput, inputPart } from "./model/history.ts";
export { fetchModel, type FetchModelOptions } from "./model/fetch-model.ts";
export { filesGroup, type FilesOptions } from "./groups/files.ts";
export { shellDefaults, shellGroup, type ShellOptions } from "./groups/shell.ts";
export { timeGroup } from "./groups/time.ts";
export { webDefaults, webGroup, type WebOptions } from "./groups/web.ts";
export { connectMcp, type McpServer, type McpToolGroup } from "./mcp/connect.ts";
