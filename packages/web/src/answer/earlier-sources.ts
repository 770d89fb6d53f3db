import { createContext, useContext } from "react";
import {
  citedAnswers,
  type AnswerVersion,
  type Chat,
  type CitedAnswer,
} from "@deltawire/tasks/chats";
import { once } from "../once.ts";
import { answerView } from "./answer-view.ts";
import { goToCall } from "./go-to-call.ts";
import { SourcesContext } from "./scene.ts";
import type { Source } from "./sources.ts";

/** Sources that earlier answers of the conversation have found, for numbers that are not the answer's own. */
export interface EarlierSources {
  find: (number: number) => Source | undefined;
  /** Brings an answer into view. */
  show?: ((nodeId: string) => Promise<boolean>) | undefined;
}

export const noEarlierSources: EarlierSources = { find: () => undefined };

export const EarlierSourcesContext = createContext(noEarlierSources);

/** `chat` is read when a number is looked up: what is above an answer may change. */
export function earlierSources(
  chat: () => Chat | undefined,
  from: CitedAnswer,
  show?: EarlierSources["show"],
): EarlierSources {
  const citedIn = once((now: Chat) => citedAnswers(now, from));
  return {
    show,
    find(number) {
      const now = chat();
      const cited = now && citedIn(now).get(number);
      const source = cited && sourcesOfVersion(cited.version).get(number);
      return source && { ...source, nodeId: cited.node.node_id };
    },
  };
}

const sourcesOfVersion = once((version: AnswerVersion) => answerView(version).timeline.sources);

/** The source of a number in the words that are drawn. */
export function useSource(number: number): Source | undefined {
  const own = useContext(SourcesContext).get(number);
  const earlier = useContext(EarlierSourcesContext);
  return own ?? earlier.find(number);
}

/** Returns how to go to the call that found a source, in this answer or in an earlier one. */
export function useGoToSource(): (from: Element, source: Source) => void {
  const { show } = useContext(EarlierSourcesContext);
  return (from, { path, nodeId }) => {
    const here = from.closest("[data-node]")?.getAttribute("data-node");
    if (nodeId === undefined || nodeId === here) return goToCall(from, path);
    void show?.(nodeId).then((isThere) => isThere && goWhenDrawn(nodeId, path, framesAtMost));
    return undefined;
  };
}

const framesAtMost = 60;

/** An answer far away is drawn when it has come into view. */
function goWhenDrawn(nodeId: string, path: readonly string[], frames: number): void {
  const answer = document.querySelector(`[data-node="${CSS.escape(nodeId)}"] .answer`);
  if (answer !== null) goToCall(answer, path);
  else if (frames > 0) requestAnimationFrame(() => goWhenDrawn(nodeId, path, frames - 1));
}
