import { modelProgressKey } from "@deltawire/tasks";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { useWords } from "../words/use-words.ts";
import { ProgressLine } from "./progress-line.tsx";
import { RetryLine } from "./retry-line.tsx";
import { useScene } from "./scene.ts";
import { answerWords } from "./words.ts";

/** Nothing has come yet: when the model is asked again, what the model tells of its way, or a caret. */
export function Awaiting({ taskId }: { taskId: string }) {
  const page = usePage();
  const words = useWords(answerWords);
  const { rootTaskId = taskId } = useScene();
  const progress = usePicked(page.progress(rootTaskId), (all) => all[modelProgressKey(taskId)]);
  const retry = usePicked(page.taskTree(rootTaskId), (tree) => tree?.tasks[taskId]?.retry);
  if (retry !== undefined) return <RetryLine retry={retry} />;
  if (progress === undefined) return <Caret />;
  return <ProgressLine progress={progress} label={words.modelProgress} />;
}

export function Caret() {
  const words = useWords(answerWords);
  return (
    <div className="answer-caret">
      <span className="for-readers">{words.comes}</span>
    </div>
  );
}
