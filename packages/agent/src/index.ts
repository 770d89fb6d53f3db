export { defineAgent, type Agent, type AgentDefinition } from "./agent.ts";
export { defineTool } from "./define-tool.ts";
export type {
  CallPolicy,
  ResultPolicy,
  Tool,
  ToolContext,
  ToolDefinition,
  ToolGroup,
} from "./tool.ts";
export type { Checked, InputSchema, StandardSchema } from "./input-schema.ts";
export { runTask, type RunningTask, type RunTaskOptions } from "./run-task.ts";
export {
  Runtime,
  type AgentRequest,
  type Listener,
  type RuntimeOptions,
  type TaskRequest,
} from "./runtime.ts";
export { RuntimeError, type RuntimeErrorCode } from "./runtime-error.ts";
export type { Decided } from "./tree-run.ts";
export type { Price } from "./usage.ts";
export { ModelError, type Model } from "./model.ts";
export { MemoryLog } from "./memory-log.ts";
export { blobPath, MemoryBlobs } from "./blobs.ts";
export { fetchModel, type FetchModelOptions } from "./fetch-model.ts";
export { filesGroup, type FilesOptions } from "./groups/files.ts";
export { shellGroup, type ShellOptions } from "./groups/shell.ts";
export { timeGroup } from "./groups/time.ts";
export { webGroup, type WebOptions } from "./groups/web.ts";
export { connectMcp, type McpServer } from "./mcp/connect.ts";
