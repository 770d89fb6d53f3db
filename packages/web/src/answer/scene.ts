import { createContext, useContext } from "react";
import type { OpenChat } from "../state/page.ts";
import type { Sources } from "./sources.ts";

/** What all parts of one answer need to know of it. */
export interface AnswerScene {
  readonly chat: OpenChat;
  readonly rootTaskId: string | undefined;
  readonly nodeId: string;
  readonly versionId: string;
  /** A later version goes on from where this one ended. */
  readonly isContinued: boolean;
}

export const SceneContext = createContext<AnswerScene | undefined>(undefined);

export function useScene(): AnswerScene {
  const scene = useContext(SceneContext);
  if (scene === undefined) throw new Error("there is no answer around this component");
  return scene;
}

/** Those of the task whose words are drawn: each has numbers of its own. */
export const SourcesContext = createContext<Sources>(new Map());
