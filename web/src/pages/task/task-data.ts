/** The data of one task. */

import type { Task } from "@mesh/proto";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { ApiError } from "../../api/error.ts";
import { getTask } from "../../api/tasks.ts";
import { toastError } from "../../ui/toast.tsx";

/** The task by id or key. */
export function useTask(id: string) {
  return useQuery({ queryKey: ["task", id], queryFn: () => getTask({ task: id }) });
}

/** A change that answers with the task: the answer is shown at once, whatever it was cached under. */
export function useTaskChange<Input>(
  work: (input: Input) => Promise<{ readonly task?: Task | undefined }>,
  options: { readonly onSuccess?: (input: Input) => void; readonly onConflict?: (error: ApiError) => void } = {},
) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: work,
    onSuccess: ({ task }, input) => {
      if (task !== undefined) {
        queries.setQueriesData<{ task?: Task; feed_seq: number }>({ queryKey: ["task"] }, (old) =>
          old?.task?.id === task.id ? { ...old, task: { ...old.task, ...task } } : old,
        );
        void queries.invalidateQueries({ queryKey: ["activity", task.id] });
      }
      options.onSuccess?.(input);
    },
    onError: (thrown) => {
      const error = ApiError.from(thrown);
      if (error.status === 409 && error.details["code"] === "revision_conflict" && options.onConflict !== undefined) {
        options.onConflict(error);
      } else toastError(error);
    },
  });
}
