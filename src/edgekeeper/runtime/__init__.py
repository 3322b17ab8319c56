"""The controller runtime: queue, controllers, manager. It knows no cloud and no kind."""
