import { createContext, useContext } from "react";
import {
  findCitableAnswers,
  type AnswerVersion,
  type Chat,
  type AnswerNodeVersion,
} from "@deltawire/tasks/chats";
import { memoizeByObject } from "../memoize.ts";
import { buildAnswerViewModel } from "./answer-view-model.ts";
import { goToCall } from "./go-to-call.ts";
import { SourcesContext } from "./answer-context.ts";
import type { Source } from "./sources.ts";

/** Sources of earlier answers in the chat, for citation numbers that the answer itself does not define. */
export interface EarlierSources {
  find: (number: number) => Source | undefined;
  /** Scrolls an answer into view. Resolves to false if it does not exist. */
  showNode?: ((nodeId: string) => Promise<boolean>) | undefined;
}

export const noEarlierSources: EarlierSources = { find: () => undefined };

export const EarlierSourcesContext = createContext(noEarlierSources);

/** `getChat` is called at each lookup, because the answers above may change. `citingAnswer` is the answer with the citations. */
export function createEarlierSources(
  getChat: () => Chat | undefined,
  citingAnswer: AnswerNodeVersion,
  showNode?: EarlierSources["showNode"],
): EarlierSources {
  const getCitedAnswers = memoizeByObject((chat: Chat) => findCitableAnswers(chat, citingAnswer));
  return {
    showNode,
    find(number) {
      const chat = getChat();
      const citedAnswer = chat && getCitedAnswers(chat).get(number);
      const source = citedAnswer && getVersionSources(citedAnswer.version).get(number);
      return source && { ...source, nodeId: citedAnswer.node.node_id };
    },
  };
}

const getVersionSources = memoizeByObject(
  (version: AnswerVersion) => buildAnswerViewModel(version).timeline.sources,
);

/** Returns the source of a citation number in the answer that the component is part of. */
export function useSource(number: number): Source | undefined {
  const source = useContext(SourcesContext).get(number);
  const earlierSources = useContext(EarlierSourcesContext);
  return source ?? earlierSources.find(number);
}

/** Returns a function that goes to the call that found a source. `element` is any element of the current answer. */
export function useGoToSource(): (element: Element, source: Source) => void {
  const { showNode } = useContext(EarlierSourcesContext);
  return (element, { path, nodeId }) => {
    const currentNodeId = element.closest("[data-node]")?.getAttribute("data-node");
    if (nodeId === undefined || nodeId === currentNodeId) return goToCall(element, path);
    void showNode?.(nodeId).then(
      (exists) => exists && goToCallWhenMounted(nodeId, path, maxFrames),
    );
    return undefined;
  };
}

/** How many frames to wait for an answer to mount, about 1 s. */
const maxFrames = 60;

/** Waits, because a distant answer mounts only after it has scrolled into view. */
function goToCallWhenMounted(nodeId: string, path: readonly string[], framesLeft: number): void {
  const answer = document.querySelector(`[data-node="${CSS.escape(nodeId)}"] .answer`);
  if (answer !== null) goToCall(answer, path);
  else if (framesLeft > 0)
    requestAnimationFrame(() => goToCallWhenMounted(nodeId, path, framesLeft - 1));
}
