"""Functions of CUDA 12.9's runtime that this API does not declare, and why."""

LEFT_OUT = {
    "textures and surfaces have no meaning outside device code that reads them": """
        CreateChannelDesc CreateSurfaceObject CreateTextureObject DestroySurfaceObject
        DestroyTextureObject DeviceGetTexture1DLinearMaxWidth GetChannelDesc
        GetSurfaceObjectResourceDesc GetTextureObjectResourceDesc
        GetTextureObjectResourceViewDesc GetTextureObjectTextureDesc
        """,
    "graphics interfaces are out of scope": """
        GraphicsMapResources GraphicsResourceGetMappedMipmappedArray
        GraphicsResourceGetMappedPointer GraphicsResourceSetMapFlags
        GraphicsSubResourceGetMappedArray GraphicsUnmapResources GraphicsUnregisterResource
        """,
    "one vendor's private interfaces": "DeviceGetNvSciSyncAttributes GetExportTable",
    "without effect since devices know double precision": "SetDoubleForDevice SetDoubleForHost",
}
