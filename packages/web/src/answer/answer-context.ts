import { createContext, useContext } from "react";
import type { OpenChat } from "../state/app-store.ts";
import type { Sources } from "./sources.ts";

/** Shared by all components of one answer. */
export interface AnswerContextValue {
  readonly chat: OpenChat;
  readonly rootTaskId: string | undefined;
  readonly nodeId: string;
  readonly versionId: string;
  /** True if a later version continues where this one ended. */
  readonly isContinued: boolean;
}

export const AnswerContext = createContext<AnswerContextValue | undefined>(undefined);

export function useAnswerContext(): AnswerContextValue {
  const context = useContext(AnswerContext);
  if (context === undefined)
    throw new Error("useAnswerContext must be used within an AnswerContext");
  return context;
}

/** The sources of the task whose timeline is rendered. Each task numbers its own sources. */
export const SourcesContext = createContext<Sources>(new Map());
